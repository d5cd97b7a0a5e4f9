#include <cstdlib>

struct Node {
    Node *next;
    int value;
};

__device__ __noinline__ Node *push(Node *list, int value) {
    Node *node = static_cast<Node *>(malloc(sizeof(Node)));
    node->next = list;
    node->value = value;
    return node;
}

__device__ __noinline__ int release(Node *list) {
    int sum = 0;
    while (list != nullptr) {
        Node *next = list->next;
        sum += list->value;
        free(list);
        list = next;
    }
    return sum;
}
