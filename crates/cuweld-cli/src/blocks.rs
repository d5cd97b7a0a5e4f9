//! Copying and comparing blocks of memory, in the place of musl's functions.
//!
//! A link does it tens of thousands of times with some ten bytes each. musl's are made to be small: copying few bytes takes five times as
//! long as with other C libraries, and comparing many, twenty times.

#![allow(unsafe_code, reason = "functions that the compiler calls by their names")]

use std::arch::asm;
use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8};
use std::ffi::c_int;

/// From this size on, the processor copies faster by itself.
const WORTH_ONE_INSTRUCTION: usize = 2 << 10;

/// # Safety
/// `size` bytes can be read at `from` and written at `to`, and they do not overlap.
// SAFETY: this is the C library's function, and does the same.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: the caller vouches for the bytes; the loop leaves no more than its last step does.
    unsafe {
        if !copy_few(to, from, size) {
            if size < WORTH_ONE_INSTRUCTION {
                copy_up(to, from, size);
            } else {
                asm!("rep movsb", inout("rcx") size => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
            }
        }
    }
    to
}

/// # Safety
/// `size` bytes can be read at `from` and written at `to`.
// SAFETY: this is the C library's function, and does the same.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: the caller vouches for the bytes. Only if the target begins inside of the source, a step up could overwrite what is read later.
    unsafe {
        if !copy_few(to, from, size) {
            match to.addr().wrapping_sub(from.addr()) < size {
                true => copy_down(to, from, size),
                false => copy_up(to, from, size),
            }
        }
    }
    to
}

/// # Safety
/// `size` bytes can be read at `one` and `other`.
// SAFETY: this is the C library's function, and does the same.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, size: usize) -> c_int {
    // SAFETY: the caller vouches for the bytes; what is read ends at the size.
    unsafe {
        match size {
            16.. => {
                let mut at = 0;
                while at + 16 < size {
                    if let Some(order) = order_of_16(one.add(at), other.add(at)) {
                        return order;
                    }
                    at += 16;
                }
                order_of_16(one.add(size - 16), other.add(size - 16)).unwrap_or(0)
            }
            8.. => {
                let last = size - 8;
                order_of_8(one, other).or_else(|| order_of_8(one.add(last), other.add(last))).unwrap_or(0)
            }
            _ => {
                let of_byte = |at: usize| c_int::from(*one.add(at)) - c_int::from(*other.add(at));
                (0..size).map(of_byte).find(|&order| order != 0).unwrap_or(0)
            }
        }
    }
}

/// # Safety
/// `size` bytes can be read at `one` and `other`.
// SAFETY: this is the C library's function, which may say more than is asked for.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, size: usize) -> c_int {
    // SAFETY: the caller vouches for the same.
    unsafe { memcmp(one, other, size) }
}

/// The order of two blocks of 16 bytes, unless they are equal.
#[inline(always)]
unsafe fn order_of_16(one: *const u8, other: *const u8) -> Option<c_int> {
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        let equal = _mm_cmpeq_epi8(_mm_loadu_si128(one.cast()), _mm_loadu_si128(other.cast()));
        let at = (!_mm_movemask_epi8(equal)).trailing_zeros() as usize;
        (at < 16).then(|| c_int::from(*one.add(at)) - c_int::from(*other.add(at)))
    }
}

/// The order of two blocks of 8 bytes, unless they are equal.
#[inline(always)]
unsafe fn order_of_8(one: *const u8, other: *const u8) -> Option<c_int> {
    // SAFETY: the caller vouches for the bytes.
    let [one, other] = unsafe { [one, other].map(|block| u64::from_be_bytes(block.cast::<[u8; 8]>().read())) };
    (one != other).then_some(if one < other { -1 } else { 1 })
}

/// Copies up to 64 bytes, which may overlap. Says whether there are no more.
#[inline(always)]
unsafe fn copy_few(to: *mut u8, from: *const u8, size: usize) -> bool {
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        match size {
            0 => {}
            1 => copy_ends::<u8>(to, from, size),
            2..=4 => copy_ends::<u16>(to, from, size),
            5..=8 => copy_ends::<u32>(to, from, size),
            9..=16 => copy_ends::<u64>(to, from, size),
            17..=32 => copy_ends::<__m128i>(to, from, size),
            33..=64 => copy_ends::<[__m128i; 2]>(to, from, size),
            _ => return false,
        }
    }
    true
}

/// Copies a block of at least one `T` and at most two. Everything is read before anything is written.
#[inline(always)]
unsafe fn copy_ends<T: Copy>(to: *mut u8, from: *const u8, size: usize) {
    let last = size - size_of::<T>();
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        let (head, tail) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(head);
        to.add(last).cast::<T>().write_unaligned(tail);
    }
}

/// Copies more than 32 bytes, the first ones first. These are instructions, since the compiler would call `memcpy` for such a loop.
#[inline(always)]
unsafe fn copy_up(to: *mut u8, from: *const u8, size: usize) {
    let last = size - 32;
    // SAFETY: the caller vouches for the bytes. What the last step reads is read first, since the loop may overwrite it.
    unsafe {
        let tail = from.add(last).cast::<[__m128i; 2]>().read_unaligned();
        asm!(
            "2:",
            "movups {low}, [{from} + {at}]",
            "movups {high}, [{from} + {at} + 16]",
            "movups [{to} + {at}], {low}",
            "movups [{to} + {at} + 16], {high}",
            "add {at}, 32",
            "cmp {at}, {last}",
            "jb 2b",
            at = inout(reg) 0_usize => _, last = in(reg) last, from = in(reg) from, to = in(reg) to,
            low = out(xmm_reg) _, high = out(xmm_reg) _, options(nostack),
        );
        to.add(last).cast::<[__m128i; 2]>().write_unaligned(tail);
    }
}

/// Copies more than 32 bytes, the last ones first.
#[inline(always)]
unsafe fn copy_down(to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: the same, from the other end.
    unsafe {
        let head = from.cast::<[__m128i; 2]>().read_unaligned();
        asm!(
            "2:",
            "movups {low}, [{from} + {at} - 32]",
            "movups {high}, [{from} + {at} - 16]",
            "movups [{to} + {at} - 32], {low}",
            "movups [{to} + {at} - 16], {high}",
            "sub {at}, 32",
            "cmp {at}, 32",
            "ja 2b",
            at = inout(reg) size => _, from = in(reg) from, to = in(reg) to,
            low = out(xmm_reg) _, high = out(xmm_reg) _, options(nostack),
        );
        to.cast::<[__m128i; 2]>().write_unaligned(head);
    }
}
