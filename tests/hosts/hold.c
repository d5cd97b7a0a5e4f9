/* Holds a file open while a command runs: hold read|write|nothing FILE COMMAND. The first word is what others may do meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

int main(int count, char **arguments)
{
    if (count != 4)
        return 90;
    DWORD shared = strcmp(arguments[1], "write") == 0 ? FILE_SHARE_READ | FILE_SHARE_WRITE : strcmp(arguments[1], "read") == 0 ? FILE_SHARE_READ : 0;
    HANDLE file = CreateFileA(arguments[2], GENERIC_READ, shared, NULL, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return 91;
    int status = system(arguments[3]);
    CloseHandle(file);
    return status;
}
