//! cubin-diff
