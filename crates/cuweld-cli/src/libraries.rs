//! Finds the library that `-l` means: an archive of objects for the host, or of device code.

use cuweld::diagnostics::{Diagnostic, Message};
use fatbin::archive::Contents;
use fatbin::{Archive, Kind, identify};
use std::path::Path;

/// A processor of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// As `-cpu-arch` names it.
    name: &'static str,
    /// ELF's number of it.
    machine: u16,
}

/// The processors that `-cpu-arch` names.
const PROCESSORS: [Processor; 6] = [
    Processor { name: "X86_64", machine: 62 },
    Processor { name: "AARCH64", machine: 183 },
    Processor { name: "X86", machine: 3 },
    Processor { name: "ARMv7", machine: 40 },
    Processor { name: "PPC64LE", machine: 21 },
    Processor { name: "RISCV64", machine: 243 },
];

impl Processor {
    /// ELF's number of it.
    pub fn machine(self) -> u16 {
        self.machine
    }

    /// The processor of that name; this machine's if it has none, or is unknown.
    pub fn named(name: Option<&str>) -> Self {
        let [x86_64, aarch64, ..] = PROCESSORS;
        let own = if cfg!(target_arch = "aarch64") { aarch64 } else { x86_64 };
        PROCESSORS.into_iter().find(|processor| Some(processor.name) == name).unwrap_or(own)
    }
}

/// Whether a file that was found in the search for a library is one to link with: an archive with an object for the processor, or
/// with device code. As in the reference linker, members after one that is neither are not looked at.
pub fn is_compatible(bytes: &[u8], processor: Processor) -> bool {
    match identify(bytes) {
        // Its members are files of their own.
        Kind::ThinArchive => true,
        Kind::Archive => {
            let Ok(archive) = Archive::parse(bytes) else { return false };
            for member in archive.members() {
                let Ok(Contents::Inside(bytes)) = member.map(|member| member.contents) else { return false };
                match identify(bytes) {
                    Kind::HostElf(elf) if elf.machine != processor.machine => {}
                    kind => return can_be_linked(kind),
                }
            }
            false
        }
        kind => can_be_linked(kind),
    }
}

fn can_be_linked(kind: Kind) -> bool {
    let holds_members = matches!(kind, Kind::Archive | Kind::ThinArchive);
    holds_members || matches!(kind, Kind::HostElf(_) | Kind::Coff(_) | Kind::Cubin(_) | Kind::Fatbin | Kind::Ptx | Kind::LtoIr)
}

/// Says that a file was passed over in the search for a library.
pub fn incompatible(path: &Path, option: &str, processor: Processor) -> Diagnostic {
    let file = path.to_string_lossy().into_owned();
    let library = option.trim_start_matches("-l").to_owned();
    let headline = format!("'{file}' is passed over in the search for {option}: it has no objects for {} hosts", processor.name);
    Diagnostic::new(Message::IncompatibleLibrary { file, library })
        .headline(headline)
        .hint("-cpu-arch says which processor the host has, -L where else to look")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u16) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[16] = 1;
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    fn archive(members: &[&[u8]]) -> Vec<u8> {
        let mut bytes = fatbin::archive::MAGIC.to_vec();
        for member in members {
            bytes.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "m/", 0, 0, 0, 644, member.len()).into_bytes());
            bytes.extend_from_slice(member);
        }
        bytes
    }

    #[test]
    fn one_object_for_the_processor_is_enough() {
        let (x86, arm) = (Processor::named(Some("X86_64")), Processor::named(Some("AARCH64")));
        for (members, for_x86, for_arm) in [
            (vec![elf(62)], true, false),
            (vec![elf(183)], false, true),
            (vec![elf(3), elf(62)], true, false),
            (vec![elf(3), b"text".to_vec(), elf(62)], false, false),
            (vec![elf(190)], true, true),
            (vec![], false, false),
        ] {
            let members: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
            let library = archive(&members);
            assert_eq!((is_compatible(&library, x86), is_compatible(&library, arm)), (for_x86, for_arm), "{members:?}");
        }
        assert!(!is_compatible(b"some text", x86) && !is_compatible(b"", x86) && is_compatible(&elf(62), x86));
    }
}
