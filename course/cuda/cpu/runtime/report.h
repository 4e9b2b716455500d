// What happened, as JSON lines on the file descriptor that the parent gave us. No allocation and
// no stdio here: faults are reported from signal handlers.
#pragma once

namespace {

struct Config {
    int report = -1, touches = -1;
    unsigned long seed = 0;
    char inject[32] = "";
    unsigned long inject_number = 0;
    unsigned long max_touches = 1 << 20, time_limit_ms = 0, host_bytes = 0;
    char resources[256] = "";
    // The card that is played: an A100 unless the parent says otherwise.
    char card[64] = "CPU in the place of an NVIDIA A100";
    unsigned long cc = 80, memory = 40ul << 30, sms = 108, shared_optin = 163 * 1024;
    unsigned long shared_sm = 164 * 1024, threads_sm = 2048, blocks_sm = 32, l2 = 40ul << 20;
    unsigned long bus_bits = 5120, clock_khz = 1410000, memory_khz = 1215000;
} config;

uintptr_t image_base;

struct Json {
    char text[8192];
    size_t length = 0;
    bool comma = false;

    void raw(const char* s) {
        size_t n = strlen(s);
        if (length + n + 8 > sizeof text) return;
        memcpy(text + length, s, n);
        length += n;
    }
    void key(const char* k) {
        if (comma) raw(",");
        comma = true;
        raw("\"");
        raw(k);
        raw("\":");
    }
    Json& open(const char* k) {
        key(k);
        raw("{");
        comma = false;
        return *this;
    }
    Json& close() {
        raw("}");
        comma = true;
        return *this;
    }
    Json& number(const char* k, long long n) {
        char digits[32];
        snprintf(digits, sizeof digits, "%lld", n);
        key(k);
        raw(digits);
        return *this;
    }
    Json& seconds(const char* k, double s) {
        char digits[40];
        snprintf(digits, sizeof digits, "%.6f", s);
        key(k);
        raw(digits);
        return *this;
    }
    Json& word(const char* k, const char* s) {
        key(k);
        raw("\"");
        for (; *s && length + 16 < sizeof text; ++s) {
            if (*s == '"' || *s == '\\') text[length++] = '\\';
            text[length++] = (unsigned char)*s < 32 ? ' ' : *s;
        }
        raw("\"");
        return *this;
    }
    Json& triple(const char* k, uint3 v) {
        char three[64];
        snprintf(three, sizeof three, "[%u,%u,%u]", v.x, v.y, v.z);
        key(k);
        raw(three);
        return *this;
    }
    // Code addresses are offsets in the program's image, which addr2line understands.
    Json& code(const char* k, const void* pc) {
        return pc ? number(k, (long long)((uintptr_t)pc - image_base)) : *this;
    }
    Json& place(const char* file, int line) { return word("file", file).number("line", line); }
    void send() {
        raw("}\n");
        if (config.report < 0) return;
        for (size_t sent = 0; sent < length;) {
            ssize_t n = write(config.report, text + sent, length - sent);
            if (n <= 0) return;
            sent += (size_t)n;
        }
    }
};

// One object at a time is enough, and 8 KiB are too many for a fiber's stack.
Json& event(const char* name) {
    static Json json;
    json.length = 0;
    json.comma = false;
    json.raw("{");
    return json.word("event", name);
}

// Of events that a loop can make without end, only so many are told.
bool may_tell(bool error = false) {
    static unsigned told, errors;
    return error ? errors < 2000 && ++errors : told < 20000 && ++told;
}

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// key=value pairs, separated by ';', in the environment variable CUDA_CPU.
void read_config() {
    struct { const char* key; unsigned long* value; } numbers[] = {
        {"seed", &config.seed}, {"max_touches", &config.max_touches},
        {"time_limit_ms", &config.time_limit_ms}, {"host_bytes", &config.host_bytes},
        {"inject_number", &config.inject_number}, {"cc", &config.cc},
        {"memory", &config.memory}, {"sms", &config.sms},
        {"shared_optin", &config.shared_optin}, {"shared_sm", &config.shared_sm},
        {"threads_sm", &config.threads_sm}, {"blocks_sm", &config.blocks_sm},
        {"l2", &config.l2}, {"bus_bits", &config.bus_bits}, {"clock_khz", &config.clock_khz},
        {"memory_khz", &config.memory_khz},
    };
    struct { const char* key; char* value; size_t room; } words[] = {
        {"inject", config.inject, sizeof config.inject},
        {"card", config.card, sizeof config.card},
        {"resources", config.resources, sizeof config.resources},
    };
    const char* all = getenv("CUDA_CPU");
    while (all && *all) {
        const char* equals = strchr(all, '=');
        if (!equals) return;
        size_t key = (size_t)(equals - all), value = strcspn(equals + 1, ";");
        for (auto& n : numbers)
            if (strlen(n.key) == key && !memcmp(n.key, all, key)) *n.value = strtoul(equals + 1, 0, 10);
        for (auto& w : words)
            if (strlen(w.key) == key && !memcmp(w.key, all, key) && value < w.room)
                memcpy(w.value, equals + 1, value), w.value[value] = 0;
        if (key == 6 && !memcmp(all, "report", 6)) config.report = atoi(equals + 1);
        if (key == 7 && !memcmp(all, "touches", 7)) config.touches = atoi(equals + 1);
        all = equals + 1 + value;
        if (*all == ';') ++all;
    }
}

}  // namespace
