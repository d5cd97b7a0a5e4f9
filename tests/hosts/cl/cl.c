/*
 * Poses as cl.exe under Wine: hands its arguments to the compiler outside (compile.py), and waits for what comes of them.
 *
 *     CL_REQUESTS     the folder through which the two talk
 */
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

static FILE *open_in(const char *ending, const char *mode)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%d.%s", getenv("CL_REQUESTS"), _getpid(), ending);
    return fopen(path, mode);
}

int main(int count, char **arguments)
{
    FILE *request = open_in("arguments", "wb");
    if (request == NULL)
        return 90;
    for (int index = 1; index < count; index++)
        fprintf(request, "%s%c", arguments[index], 0);
    fclose(request);
    /* What is complete, and only that, has this file beside it. */
    fclose(open_in("request", "wb"));
    FILE *done = NULL;
    for (int tries = 0; tries < 5000 && (done = open_in("status", "rb")) == NULL; tries++)
        Sleep(20);
    int status = 91;
    if (done == NULL)
        return status;
    if (fscanf(done, "%d", &status) != 1)
        status = 92;
    fclose(done);
    FILE *printed = open_in("printed", "rb");
    for (int byte; printed != NULL && (byte = fgetc(printed)) != EOF;)
        putchar(byte);
    return status;
}
