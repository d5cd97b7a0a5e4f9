//! Dumps of cubins, and their differences in a linker's terms.

use super::arguments::Arguments;
use super::{Ending, Failed, not_read, usage};
use crate::bytes::Bytes;
use cubin::printable::printable;
use cubin::read::File;
use cubin_diff::{Area, Difference};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

impl Arguments {
    /// Writes everything that is in a cubin.
    pub(super) fn show_sections(&self) -> Result<Ending, Failed> {
        let [path] = self.files.as_slice() else { return Err(usage("--sections shows one cubin")) };
        let bytes = read(path)?;
        let text = cubin::dump::dump(&parse(path, &bytes)?);
        self.write(&|_, out| out.write_all(text.as_bytes()))?;
        Ok(Ending::Compared { same: true })
    }

    /// Writes how two cubins differ.
    pub(super) fn compare_sections(&self, old: &Path, new: &Path) -> Result<Ending, Failed> {
        let (old_bytes, new_bytes) = (read(old)?, read(new)?);
        let mut differences = cubin_diff::compare_files(&parse(old, &old_bytes)?, &parse(new, &new_bytes)?);
        let mut text = String::new();
        if self.regenerated {
            let sorted = cubin_diff::regenerated(differences);
            sorted.functions.iter().for_each(|name| _ = writeln!(text, "other code: '{}'", printable(name)));
            differences = sorted.others;
        }
        text += &list(&differences, self.most);
        self.write(&|_, out| out.write_all(text.as_bytes()))?;
        Ok(Ending::Compared { same: differences.is_empty() })
    }
}

fn read(path: &Path) -> Result<Bytes, Failed> {
    Bytes::of(path).map_err(|error| not_read(path, &error.to_string()))
}

fn parse<'data>(path: &Path, bytes: &'data Bytes) -> Result<File<'data>, Failed> {
    File::parse(bytes.as_ref()).map_err(|error| not_read(path, &error.to_string()))
}

/// One line for each difference, and how many of each part are not shown.
fn list(differences: &[Difference], most: usize) -> String {
    let most = if most == 0 { usize::MAX } else { most };
    let mut by_area: BTreeMap<Area, Vec<&Difference>> = BTreeMap::new();
    for difference in differences {
        by_area.entry(difference.area).or_default().push(difference);
    }
    let mut text = String::new();
    for (area, differences) in by_area {
        differences.iter().take(most).for_each(|difference| _ = writeln!(text, "{}", printable(&difference.to_string())));
        if let Some(more) = differences.len().checked_sub(most).filter(|more| *more > 0) {
            _ = writeln!(text, "{area}: {more} more");
        }
    }
    text
}
