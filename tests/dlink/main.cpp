extern "C" void launch_first();
int main() { launch_first(); }
