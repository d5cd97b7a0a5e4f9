static const int table[4] = {1, 2, 3, 5};

int offset(int x) {
    return x + table[x & 3];
}
