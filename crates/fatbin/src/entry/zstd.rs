//! The zstd decoder.
//!
//! CUDA 13 packs every relocatable cubin this way, so that unpacking is most of what a link of host objects does. With the feature
//! `libzstd`, the C library does it: on such frames it is four to five times as fast as the decoder in safe Rust that is used without
//! the feature, and it writes into memory that was not cleared before.

#[cfg(feature = "libzstd")]
pub(super) use c_library::Zstd;
#[cfg(not(feature = "libzstd"))]
pub(super) use safe::Zstd;

#[cfg(feature = "libzstd")]
mod c_library {
    use zstd::bulk::Decompressor;

    /// A decoder, once one was needed.
    #[derive(Default)]
    pub(in super::super) struct Zstd(Option<Decompressor<'static>>);

    impl Zstd {
        /// Unpacks a frame to `size` bytes at most.
        pub(in super::super) fn unpack(&mut self, frame: &[u8], size: usize) -> Result<Vec<u8>, String> {
            let mut contents = Vec::with_capacity(size);
            self.decoder()?.decompress_to_buffer(frame, &mut contents).map_err(|error| error.to_string())?;
            Ok(contents)
        }

        /// Unpacks a frame to where it fits, and returns how many bytes it gave.
        pub(in super::super) fn unpack_into(&mut self, frame: &[u8], contents: &mut [u8]) -> Result<usize, String> {
            self.decoder()?.decompress_to_buffer(frame, contents).map_err(|error| error.to_string())
        }

        fn decoder(&mut self) -> Result<&mut Decompressor<'static>, String> {
            match &mut self.0 {
                Some(decoder) => Ok(decoder),
                none => Ok(none.insert(Decompressor::new().map_err(|error| error.to_string())?)),
            }
        }
    }
}

#[cfg(not(feature = "libzstd"))]
mod safe {
    use crate::little_endian::length;
    use ruzstd::decoding::FrameDecoder;

    /// The window that a decoder has to be ready for, however small the frame: encoders that do not know the size of their input
    /// beforehand ask for that much.
    const WINDOW: u64 = 8 << 20;

    /// A decoder.
    #[derive(Default)]
    pub(in super::super) struct Zstd(FrameDecoder);

    impl Zstd {
        /// Unpacks a frame to `size` bytes at most.
        pub(in super::super) fn unpack(&mut self, frame: &[u8], size: usize) -> Result<Vec<u8>, String> {
            let mut contents = vec![0; size];
            let unpacked = self.unpack_into(frame, &mut contents)?;
            contents.truncate(unpacked);
            Ok(contents)
        }

        /// Unpacks a frame to where it fits, and returns how many bytes it gave.
        pub(in super::super) fn unpack_into(&mut self, frame: &[u8], contents: &mut [u8]) -> Result<usize, String> {
            self.0.set_max_window_size(length(contents).max(WINDOW));
            self.0.decode_all(frame, contents).map_err(|error| error.to_string())
        }
    }
}
