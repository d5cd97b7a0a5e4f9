//! Doubles numbers on a GPU.

unsafe extern "C" {
    fn double_all(values: *mut f32, count: i32) -> i32;
}

fn main() {
    let mut values = [1.0, 2.0, 3.0];
    // SAFETY: the function reads and writes as many numbers as it is told.
    let status = unsafe { double_all(values.as_mut_ptr(), 3) };
    assert_eq!(status, 0, "there is no GPU, or it failed");
    println!("{values:?}");
}
