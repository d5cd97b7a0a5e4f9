//! What was measured, as a file that can be kept and compared.

use serde::{Deserialize, Serialize};

/// Everything of one run.
#[derive(Serialize, Deserialize)]
pub struct Results {
    /// What it was measured on.
    pub machine: Machine,
    /// The program that is measured.
    pub ours: String,
    /// The program that it is compared with, if there was one.
    pub other: Option<String>,
    /// After how many seconds a program was stopped.
    pub limit: u64,
    /// How often each link was done, at most; the best counts.
    pub repetitions: u32,
    /// What was measured along each axis.
    pub axes: Vec<Measured>,
}

/// What kind of machine it was: two of a kind give about the same times.
#[derive(Serialize, Deserialize)]
pub struct Machine {
    /// The system and the kind of processor.
    pub system: String,
    /// How many of them can be used.
    pub processors: usize,
}

/// One axis.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// The axis.
    pub name: String,
    /// The links, from small to large.
    pub points: Vec<Point>,
}

/// One link.
#[derive(Serialize, Deserialize)]
pub struct Point {
    /// How many there are of what grows along the axis.
    pub size: usize,
    /// How many files were read.
    pub files: usize,
    /// How many bytes were in them.
    pub input_bytes: u64,
    /// How large the result was.
    pub output_bytes: u64,
    /// The seconds it takes to only read and write as much.
    pub floor: f64,
    /// What our program did.
    pub ours: Outcome,
    /// What the other one did.
    pub other: Outcome,
    /// Whether both made the same file, if both made one.
    pub same: Option<bool>,
}

/// What a program did, at its best.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It linked.
    Finished {
        /// How long it took.
        seconds: f64,
        /// The most memory that it had.
        peak_bytes: u64,
    },
    /// It was ended when the time was up.
    Stopped,
    /// It ended without a result.
    Failed,
    /// It was not run: there is no such program, or it was stopped at a smaller size.
    Skipped,
}

impl Outcome {
    /// How long it took, if it came to an end.
    pub fn seconds(&self) -> Option<f64> {
        match self {
            Outcome::Finished { seconds, .. } => Some(*seconds),
            Outcome::Stopped | Outcome::Failed | Outcome::Skipped => None,
        }
    }

    /// The better one of two.
    pub fn better(self, other: Outcome) -> Outcome {
        match (self, other) {
            (Outcome::Finished { seconds, peak_bytes }, Outcome::Finished { seconds: more, peak_bytes: bytes }) => {
                Outcome::Finished { seconds: seconds.min(more), peak_bytes: peak_bytes.min(bytes) }
            }
            (Outcome::Finished { .. }, _) => self,
            _ => other,
        }
    }
}

/// Seconds, for people.
pub fn shown_seconds(seconds: f64) -> String {
    match seconds {
        _ if seconds < 0.001 => format!("{:.2} ms", seconds * 1e3),
        _ if seconds < 0.1 => format!("{:.1} ms", seconds * 1e3),
        _ if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// Bytes, for people.
pub fn shown_bytes(bytes: u64) -> String {
    match bytes as f64 / 1024.0 {
        kibibytes if kibibytes < 1024.0 => format!("{kibibytes:.0} KiB"),
        kibibytes if kibibytes < 10240.0 => format!("{:.1} MiB", kibibytes / 1024.0),
        kibibytes => format!("{:.0} MiB", kibibytes / 1024.0),
    }
}

/// A count, for people.
pub fn shown_count(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_as_many_digits_as_mean_something() {
        assert_eq!([0.000_12, 0.0157, 0.42, 12.3456].map(shown_seconds), ["0.12 ms", "15.7 ms", "420 ms", "12.35 s"]);
        assert_eq!([1000, 3 << 20, 300 << 20].map(shown_bytes), ["1 KiB", "3.0 MiB", "300 MiB"]);
        assert_eq!([10, 1000, 100_000, 1_234_567].map(shown_count), ["10", "1,000", "100,000", "1,234,567"]);
    }

    #[test]
    fn the_best_run_counts() {
        let slow = Outcome::Finished { seconds: 2.0, peak_bytes: 10 };
        let fast = Outcome::Finished { seconds: 1.0, peak_bytes: 20 };
        assert_eq!(slow.better(fast), Outcome::Finished { seconds: 1.0, peak_bytes: 10 });
        assert_eq!(Outcome::Skipped.better(fast), fast);
        assert_eq!(fast.better(Outcome::Stopped), fast);
        assert_eq!(Outcome::Skipped.better(Outcome::Stopped), Outcome::Stopped);
    }
}
