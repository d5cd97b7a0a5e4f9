int factor = 3;

int scale(int x) {
    return factor * x;
}
