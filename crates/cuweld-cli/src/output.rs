//! Writing one file: whole or not at all, wherever the system allows that.
//!
//! What is named is opened as the system opens it, links and all. A regular file that has one name, or nothing yet, is replaced: the
//! bytes go into a new file, and it is renamed to the old one's name when all of them are there. Whoever looks sees one of the
//! two and never a part, whether the disk is full or the program is killed. Where the system can make files that have no name yet,
//! hardly anything can be left behind either (`beside`).
//!
//! Everything else keeps what it is and is written in place: devices, pipes, open files that have no name, files with several names,
//! and files that the system lets nobody rename onto, such as mount points. Nothing is written to these before all files of a link are
//! complete.

use crate::beside;
use crate::bytes::Identity;
use crate::destination::{Destination, STANDARD_OUTPUT, Target};
use crate::streams;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut pending = Pending::begin(path)?;
    pending.contents.write_all(bytes)?;
    pending.commit()
}

/// A file that is being written. If it is not committed, nothing is left of it.
pub struct Pending {
    /// What to write to.
    pub contents: Contents,
    /// How long the new file is already, whatever was written to it.
    pub(crate) room: u64,
    whereabouts: Whereabouts,
}

/// The bytes until the file is committed.
pub enum Contents {
    /// In the new file.
    File(File),
    /// In memory: there is no new file.
    Memory(Vec<u8>),
}

enum Whereabouts {
    /// In place.
    Place(InPlace),
    /// Nowhere yet.
    Nameless(Target),
    /// Beside its place, with a lock on the old file there where that was asked for.
    Beside { beside: PathBuf, target: Target, old: Option<File> },
    /// At its place, and the old file beside it.
    Exchanged { beside: PathBuf, _old: File },
    /// At its place.
    Done,
}

/// What is written in place.
struct InPlace {
    file: File,
    /// How many bytes it has that are lost as soon as it is written to.
    loses: Option<u64>,
}

impl Pending {
    /// Begins to write a file.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let target = match Destination::of(path)? {
            Destination::Open(file) => return Ok(Self::in_place(InPlace { file, loses: None })),
            Destination::InPlace => return InPlace::open(path).map(Self::in_place),
            Destination::Replace(target) => target,
        };
        let is_there = target.old.is_some();
        match Self::begin_new(target) {
            // A folder in which no file can be made may have one that can be written to.
            Err(error) if is_there => InPlace::open(path).map(Self::in_place).map_err(|_| error),
            begun => begun,
        }
    }

    /// The same, if it can be done so that nothing is left of the file even if the program is killed.
    pub fn begin_nameless(path: &Path) -> Option<Self> {
        let Destination::Replace(target) = Destination::of(path).ok()? else { return None };
        let file = beside::open_nameless(target.folder(), target.old.as_ref())?;
        target.make_alike(&file).ok()?;
        Some(Pending { contents: Contents::File(file), room: 0, whereabouts: Whereabouts::Nameless(target) })
    }

    /// Whether it is written in place.
    pub fn is_in_place(&self) -> bool {
        matches!(self.whereabouts, Whereabouts::Place(_))
    }

    fn in_place(place: InPlace) -> Self {
        Pending { contents: Contents::Memory(Vec::new()), room: 0, whereabouts: Whereabouts::Place(place) }
    }

    fn begin_new(target: Target) -> io::Result<Self> {
        let (file, beside) = match beside::open_nameless(target.folder(), target.old.as_ref()) {
            Some(file) => (file, None),
            None => {
                let (file, beside) = beside::create(target.folder(), target.old.as_ref())?;
                (file, Some(beside))
            }
        };
        let alike = target.make_alike(&file);
        let whereabouts = match beside {
            Some(beside) => Whereabouts::Beside { beside, target, old: None },
            None => Whereabouts::Nameless(target),
        };
        let pending = Pending { contents: Contents::File(file), room: 0, whereabouts };
        alike.map(|()| pending)
    }

    /// Does what takes time before the file can take its place, unless that is done. What fails here is tried again then.
    pub fn prepare(&mut self) {
        let Contents::File(file) = &self.contents else { return };
        if let Whereabouts::Nameless(target) = &self.whereabouts {
            beside::remove_abandoned(target.folder());
            // A name can not be given over another; a name can be changed to another.
            if target.old.is_some()
                && let Ok(beside) = beside::give_any(file, target.folder())
            {
                self.whereabouts = Whereabouts::Beside { beside, target: target.clone(), old: None };
            }
        }
        if let Whereabouts::Beside { target, old, .. } = &mut self.whereabouts
            && target.old.is_some()
            && old.is_none()
        {
            *old = beside::open_locked(&target.place);
        }
    }

    /// The file is whole: it takes its place. An old one that it replaced is there until this is dropped.
    pub fn commit(&mut self) -> io::Result<()> {
        self.prepare();
        let mut file = match (&mut self.contents, &mut self.whereabouts) {
            (Contents::Memory(bytes), Whereabouts::Place(place)) => return place.write(|file| file.write_all(bytes)),
            (Contents::File(file), _) => file.try_clone()?,
            (Contents::Memory(_), _) => return Ok(()),
        };
        if self.room > 0 {
            let size = file.stream_position()?;
            file.set_len(size)?;
        }
        let Err(error) = self.take_place(&file) else { return Ok(()) };
        let (Whereabouts::Nameless(target) | Whereabouts::Beside { target, .. }) = &self.whereabouts else { return Err(error) };
        // Mount points can not be renamed onto, but be written to. Without an old file, there is nothing to write to.
        let Some(mut place) = target.old.as_ref().and_then(|_| InPlace::open(&target.place).ok()) else { return Err(error) };
        file.rewind()?;
        place.write(|to| io::copy(&mut file, to).map(|_| ()))
    }

    fn take_place(&mut self, file: &File) -> io::Result<()> {
        if let Whereabouts::Nameless(target) = &self.whereabouts {
            // Where there is no old file, the name is the only thing that was missing.
            if target.old.is_none() && beside::give(file, &target.place).is_ok() {
                self.whereabouts = Whereabouts::Done;
                return Ok(());
            }
            let (beside, target) = (beside::give_any(file, target.folder())?, target.clone());
            self.whereabouts = Whereabouts::Beside { beside, target, old: None };
        }
        let Whereabouts::Beside { beside, target, old } = &mut self.whereabouts else { return Ok(()) };
        // Files that change places need not be on the disk first, as one that replaces another must on some systems. What is beside
        // afterwards is the old one, and goes. It is locked like the new one, so that nobody else removes it.
        let old = old.take().filter(|_| beside::exchange(beside, &target.place).is_ok());
        self.whereabouts = match old {
            Some(old) => Whereabouts::Exchanged { beside: std::mem::take(beside), _old: old },
            None => {
                replace(beside, &target.place)?;
                Whereabouts::Done
            }
        };
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Whereabouts::Beside { beside, .. } | Whereabouts::Exchanged { beside, .. } = &self.whereabouts {
            // If this fails, the next link removes it.
            _ = fs::remove_file(beside);
        }
    }
}

impl InPlace {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).open(path)?;
        let loses = match file.metadata() {
            // Devices have none there.
            Err(_) if cfg!(windows) => None,
            metadata => Some(metadata?).filter(fs::Metadata::is_file).map(|metadata| metadata.len()),
        };
        Ok(InPlace { file, loses })
    }

    fn write(&mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        if self.loses.is_some() {
            self.file.set_len(0)?;
        }
        write(&mut self.file).map_err(|error| match self.loses {
            None | Some(0) => error,
            Some(_) => io::Error::new(error.kind(), format!("{error}; it could not be replaced, and its old contents are gone")),
        })
    }
}

impl Contents {
    /// Writes a part of a file, from where that is.
    pub fn copy(&mut self, source: &mut io::Take<File>) -> io::Result<u64> {
        match self {
            Contents::File(file) => io::copy(source, file),
            Contents::Memory(bytes) => source.read_to_end(bytes).map(|count| count as u64),
        }
    }
}

/// Lets a file take the place of another. Windows does not rename over a file that another program has open: where that program lets
/// others write to it, its contents are replaced.
fn replace(beside: &Path, place: &Path) -> io::Result<()> {
    let Err(error) = fs::rename(beside, place) else { return Ok(()) };
    let overwrite = || {
        let mut old = File::options().write(true).truncate(true).open(place)?;
        io::copy(&mut File::open(beside)?, &mut old)?;
        fs::remove_file(beside)
    };
    if cfg!(windows) { overwrite().map_err(|_| error) } else { Err(error) }
}

impl Write for Contents {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Contents::File(file) => file.write(bytes),
            Contents::Memory(memory) => memory.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target {
    /// Gives a new file the owner, the permissions and the attributes of the old one.
    fn make_alike(&self, file: &File) -> io::Result<()> {
        let Some(old) = &self.old else { return Ok(()) };
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            let new = file.metadata()?;
            let is_owned_alike = (new.uid(), new.gid()) == (old.uid(), old.gid());
            if !is_owned_alike {
                fchown(file, Some(old.uid()), Some(old.gid()))?;
            }
            // A list of who has access decides what some of the permissions mean.
            let has_changed = beside::copy_attributes(&self.place, file)?;
            if is_owned_alike && !has_changed && new.mode() == old.mode() {
                return Ok(());
            }
        }
        file.set_permissions(old.permissions())
    }
}

/// Where a path leads, so that two that lead to one file can be told. None for what is no regular file, which may be written to by any
/// name.
#[derive(Clone, Debug)]
pub enum Leads {
    /// To a file.
    File(Identity),
    /// To an open file that all may write to that are given it.
    Open(Identity),
    /// To where there is none yet.
    Nowhere(PathBuf),
}

impl Leads {
    /// Where a path leads.
    pub fn of(path: &Path) -> Option<Self> {
        match Destination::of(path).ok()? {
            Destination::Open(file) => file.metadata().ok().and_then(|found| Identity::of(&found)).map(Leads::Open),
            Destination::InPlace => fs::metadata(path).ok().and_then(|found| Identity::of(&found)).map(Leads::File),
            Destination::Replace(Target { place, old }) => match old {
                Some(old) => Identity::of(&old).map(Leads::File),
                None => Some(Leads::Nowhere(place)),
            },
        }
    }

    /// Whether what is written to one of them is lost in the other.
    pub fn clashes_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Leads::Open(_), Leads::Open(_)) => false,
            (Leads::File(one) | Leads::Open(one), Leads::File(other) | Leads::Open(other)) => one == other,
            (Leads::Nowhere(one), Leads::Nowhere(other)) => one == other,
            _ => false,
        }
    }
}

/// The regular file that an output leads to, if it is there.
pub fn identity(output: &Path) -> Option<Identity> {
    let found = match output == Path::new(STANDARD_OUTPUT) {
        true => streams::open(1).ok()?.metadata(),
        false => fs::metadata(output),
    };
    Identity::of(&found.ok()?)
}
