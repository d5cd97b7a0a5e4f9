//! Numbers as people read them.

/// A size in binary units, with three digits at most.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || size >= 99.95 {
        0
    } else if size >= 9.995 {
        1
    } else {
        2
    };
    format!("{size:.digits$} {}", UNITS[unit])
}

/// A part of a whole, in percent.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "0 %".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

/// A number with commas.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One of something, or several.
pub(crate) fn plural(number: usize, one: &str, several: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1024), bytes(12345), bytes(1 << 30)],
            ["0 B", "999 B", "1.00 KiB", "12.1 KiB", "1.00 GiB"]
        );
        assert_eq!([count(0), count(999), count(1000), count(1234567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([percent(1, 3), percent(1, 0)], ["33.3 %", "0 %"]);
        assert_eq!([plural(1, "kernel", "kernels"), plural(2, "kernel", "kernels")], ["1 kernel", "2 kernels"]);
    }
}
