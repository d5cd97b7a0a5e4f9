//! Occupancy: how many warps of a kernel a multiprocessor holds at a time.
//!
//! The limits are those of the CUDA Programming Guide, "Compute Capabilities", tables "Device and Streaming Multiprocessor (SM)
//! Information" and "Memory Information per Compute Capability" (before 7.5, those of the guide of CUDA 12.9), and, for those that it
//! leaves out (8.8, 10.7), of NVIDIA's `cuda::arch_traits` in the CUDA Core Compute Libraries (`cuda/__device/arch_traits.h`, release 13.4),
//! which says the same as the guide of all others from 6.0 on. How they are shared out is what the toolkit's occupancy calculator
//! (`cuda_occupancy.h`) does, which a test asks: registers are handed out to warps in units of 256, to each scheduler its share of them;
//! shared memory to blocks, in units, with what the system reserves for each block.
//!
//! A row is there only where one of them has it.

use serde::{Deserialize, Serialize};

/// What a multiprocessor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// Warps.
    pub warps: u32,
    /// Blocks.
    pub blocks: u32,
    /// Registers.
    pub registers: u32,
    /// Bytes of shared memory.
    pub shared: u64,
    /// Bytes of shared memory that the system takes of each block.
    pub reserved_shared: u64,
    /// Shared memory is handed out in multiples of so many bytes.
    pub shared_unit: u64,
    /// Most bytes of shared memory of a block.
    pub shared_per_block: u64,
    /// Schedulers: each has its share of the registers.
    #[serde(default = "most_have")]
    pub schedulers: u32,
}

/// The schedulers of all multiprocessors but those of 6.0.
const fn most_have() -> u32 {
    4
}

/// Threads of a warp.
const WARP: u32 = 32;
/// Most threads of a block.
const MOST_THREADS: u32 = 1024;
/// Registers are handed out to warps in multiples of so many.
const REGISTER_UNIT: u32 = 256;
/// Most registers of a thread.
const MOST_REGISTERS: u32 = 255;

/// The sizes of blocks that reports show.
pub const BLOCK_SIZES: [u32; 10] = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024];

const fn limits(warps: u32, blocks: u32, shared_kib: u64, reserved_shared: u64, shared_unit: u64, per_block_kib: u64) -> Limits {
    let (shared, shared_per_block) = (shared_kib << 10, per_block_kib << 10);
    Limits { warps, blocks, registers: 65536, shared, reserved_shared, shared_unit, shared_per_block, schedulers: most_have() }
}

/// Architecture, and its limits: warps, blocks, KiB of shared memory, bytes reserved per block, unit, KiB per block.
static LIMITS: [(u32, Limits); 21] = [
    (50, limits(64, 32, 64, 0, 256, 48)),
    (52, limits(64, 32, 96, 0, 256, 48)),
    (53, limits(64, 32, 64, 0, 256, 48)),
    (60, Limits { schedulers: 2, ..limits(64, 32, 64, 0, 256, 48) }),
    (61, limits(64, 32, 96, 0, 256, 48)),
    (62, limits(64, 32, 64, 0, 256, 48)),
    (70, limits(64, 32, 96, 0, 256, 96)),
    (72, limits(64, 32, 96, 0, 256, 96)),
    (75, limits(32, 16, 64, 0, 256, 64)),
    (80, limits(64, 32, 164, 1024, 128, 163)),
    (86, limits(48, 16, 100, 1024, 128, 99)),
    (87, limits(48, 16, 164, 1024, 128, 163)),
    (88, limits(48, 16, 100, 1024, 128, 99)),
    (89, limits(48, 24, 100, 1024, 128, 99)),
    (90, limits(64, 32, 228, 1024, 128, 227)),
    (100, limits(64, 32, 228, 1024, 128, 227)),
    (103, limits(64, 32, 228, 1024, 128, 227)),
    (107, limits(32, 16, 228, 1024, 128, 227)),
    (110, limits(48, 24, 228, 1024, 128, 227)),
    (120, limits(48, 24, 100, 1024, 128, 99)),
    (121, limits(48, 24, 100, 1024, 128, 99)),
];

/// What one launch of a kernel takes.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of shared memory per block, without what the system reserves.
    pub shared: u64,
    /// Most threads of a block, if that is limited.
    pub max_threads: Option<u32>,
}

impl Limits {
    /// The limits of an architecture, by its number.
    #[must_use]
    pub fn of(sm: u32) -> Option<Self> {
        LIMITS.iter().find(|(number, _)| *number == sm).map(|(_, limits)| *limits)
    }

    /// Blocks of so many threads that a multiprocessor holds; none, if it can not run one.
    #[must_use]
    pub fn blocks_of(&self, threads: u32, needs: &Needs) -> u32 {
        let most = needs.max_threads.unwrap_or(MOST_THREADS).min(MOST_THREADS);
        if threads == 0 || threads > most || needs.registers > MOST_REGISTERS || needs.shared > self.shared_per_block {
            return 0;
        }
        let warps = threads.div_ceil(WARP);
        let by_warps = self.warps / warps;
        let schedulers = self.schedulers.max(1);
        let by_registers = match (needs.registers * WARP).next_multiple_of(REGISTER_UNIT) {
            0 => self.blocks,
            per_warp => self.registers / schedulers / per_warp * schedulers / warps,
        };
        let per_block = (needs.shared + self.reserved_shared).next_multiple_of(self.shared_unit);
        let by_shared = self.shared.checked_div(per_block).map_or(u64::from(self.blocks), |blocks| blocks);
        by_warps.min(self.blocks).min(by_registers).min(u32::try_from(by_shared).unwrap_or(u32::MAX))
    }

    /// Warps that a multiprocessor holds of blocks of so many threads.
    #[must_use]
    pub fn warps_of(&self, threads: u32, needs: &Needs) -> u32 {
        self.blocks_of(threads, needs) * threads.div_ceil(WARP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warps(sm: u32, threads: u32, registers: u32, shared: u64) -> Option<u32> {
        Limits::of(sm).map(|limits| limits.warps_of(threads, &Needs { registers, shared, max_threads: None }))
    }

    #[test]
    fn small_kernels_fill_a_multiprocessor() {
        assert_eq!(warps(90, 256, 32, 0), Some(64));
        assert_eq!(warps(86, 256, 40, 0), Some(48));
        assert_eq!(warps(75, 1024, 64, 0), Some(32));
        assert_eq!(warps(107, 64, 40, 0), Some(32));
        assert_eq!(warps(99, 256, 32, 0), None);
    }

    #[test]
    fn registers_are_handed_out_to_warps() {
        // 41 registers and 43 are both 48 for each thread: 65536 / (48 * 32) = 42, a quarter to each scheduler: 40 warps.
        assert_eq!(warps(80, 128, 41, 0), Some(40));
        assert_eq!(warps(80, 128, 40, 0), Some(48));
        assert_eq!(warps(90, 256, 255, 0), Some(8));
        assert_eq!(warps(90, 1024, 65, 0), Some(0));
    }

    #[test]
    fn blocks_share_memory_and_slots() {
        // 48 KiB and one that the system reserves: four blocks in 228 KiB.
        assert_eq!(warps(90, 128, 32, 48 << 10), Some(16));
        assert_eq!(warps(90, 32, 32, 0), Some(32));
        assert_eq!(warps(86, 32, 32, 0), Some(16));
        assert_eq!(warps(75, 32, 32, 65 << 10), Some(0));
    }

    #[test]
    fn launch_bounds_are_kept() {
        let needs = Needs { registers: 32, shared: 0, max_threads: Some(256) };
        let warps = |threads| Limits::of(90).map(|limits| limits.warps_of(threads, &needs));
        assert_eq!((warps(256), warps(512)), (Some(64), Some(0)));
    }

    #[test]
    fn the_limits_are_those_of_the_cuda_programming_guide() {
        // Column by column as the guide has them under "Compute Capabilities", memory in KiB; its 12.x are two here.
        let capabilities = [75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121];
        type Of = fn(&Limits) -> u64;
        let rows: [(&str, [u64; 11], Of); 5] = [
            ("resident blocks", [16, 32, 16, 16, 24, 32, 32, 32, 24, 24, 24], |limits| limits.blocks.into()),
            ("resident warps", [32, 64, 48, 48, 48, 64, 64, 64, 48, 48, 48], |limits| limits.warps.into()),
            ("registers", [65536; 11], |limits| limits.registers.into()),
            ("shared memory", [64, 164, 100, 164, 100, 228, 228, 228, 228, 100, 100], |limits| limits.shared >> 10),
            ("shared memory of a block", [64, 163, 99, 163, 99, 227, 227, 227, 227, 99, 99], |limits| {
                limits.shared_per_block >> 10
            }),
        ];
        for (what, expected, of) in rows {
            let found = capabilities.map(|sm| Limits::of(sm).map(|limits| of(&limits)));
            assert_eq!(found, expected.map(Some), "{what}");
        }
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(LIMITS.is_sorted_by_key(|(sm, _)| *sm));
    }
}
