//! cuweld
