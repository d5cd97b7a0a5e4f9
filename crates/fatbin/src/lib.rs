//! fatbin
