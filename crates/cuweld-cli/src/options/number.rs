//! Numbers as the reference reads them: C's `strtol` with base 0, confined to 32 bits.

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotANumber {
    /// It has other characters, before or after.
    Malformed,
    /// It does not fit 32 bits.
    OutOfRange,
}

/// Reads a signed 32-bit number: `32`, `0x20`, `040`, `-1`. Blanks may lead, nothing may trail, and nothing at all
/// counts as zero.
pub(super) fn signed(text: &[u8]) -> Result<i32, NotANumber> {
    if text.is_empty() {
        return Ok(0);
    }
    let (negative, digits) = match text.trim_ascii_start() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (base, digits) = match digits {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', _, ..] => (8, digits),
        _ => (10, digits),
    };
    let magnitude = unsigned(digits, base)?;
    let value = i64::try_from(magnitude).map_err(|_| NotANumber::OutOfRange)?;
    i32::try_from(if negative { -value } else { value }).map_err(|_| NotANumber::OutOfRange)
}

/// Reads a size in bytes: a number, and perhaps one of the letters K, M, G for a power of 1024.
pub(super) fn size(text: &[u8]) -> Result<u64, NotANumber> {
    let (digits, shift) = match text {
        [rest @ .., b'K' | b'k'] => (rest, 10),
        [rest @ .., b'M' | b'm'] => (rest, 20),
        [rest @ .., b'G' | b'g'] => (rest, 30),
        rest => (rest, 0),
    };
    unsigned(digits, 10)?.checked_mul(1 << shift).ok_or(NotANumber::OutOfRange)
}

fn unsigned(digits: &[u8], base: u32) -> Result<u64, NotANumber> {
    if digits.is_empty() {
        return Err(NotANumber::Malformed);
    }
    let mut value = Some(0u64);
    for &digit in digits {
        let digit = char::from(digit).to_digit(base).ok_or(NotANumber::Malformed)?;
        value = value.and_then(|value| value.checked_mul(u64::from(base))?.checked_add(u64::from(digit)));
    }
    value.ok_or(NotANumber::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::NotANumber::{Malformed, OutOfRange};
    use super::*;

    #[test]
    #[rustfmt::skip] // rows of a table
    fn numbers_are_those_of_strtol() {
        for (text, expected) in [
            ("", Ok(0)), ("0", Ok(0)), ("64", Ok(64)), ("0x40", Ok(64)), ("0X1F", Ok(31)), ("010", Ok(8)), (" 64", Ok(64)),
            ("\t5", Ok(5)), ("+64", Ok(64)), ("-1", Ok(-1)), ("-0x10", Ok(-16)), ("2147483647", Ok(i32::MAX)),
            ("-2147483648", Ok(i32::MIN)), ("08", Err(Malformed)), ("0x", Err(Malformed)), ("64 ", Err(Malformed)),
            (" ", Err(Malformed)), ("-", Err(Malformed)), ("--5", Err(Malformed)), ("+-5", Err(Malformed)),
            ("1e3", Err(Malformed)), ("0b11", Err(Malformed)), ("2147483648", Err(OutOfRange)),
            ("0x80000000", Err(OutOfRange)), ("99999999999999999999", Err(OutOfRange)),
            ("-99999999999999999999", Err(OutOfRange)), ("99999999999999999999x", Err(Malformed)),
        ] {
            assert_eq!(signed(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    #[rustfmt::skip] // rows of a table
    fn sizes_may_have_a_unit() {
        for (text, expected) in [
            ("0", Ok(0)), ("4096", Ok(4096)), ("4k", Ok(4096)), ("2M", Ok(2 << 20)), ("3G", Ok(3 << 30)),
            ("", Err(Malformed)), ("G", Err(Malformed)), ("-1", Err(Malformed)), ("4 K", Err(Malformed)),
            ("99999999999G", Err(OutOfRange)),
        ] {
            assert_eq!(size(text.as_bytes()), expected, "{text:?}");
        }
    }
}
