// Streams and events. Work is queued, and runs when the host waits for it: no sooner, so that
// who forgets to wait sees it each time.
#pragma once

namespace {

enum Kind { LAUNCH, COPY, SET, RECORD, WAIT, HOST_FUNCTION, FREE };
const char* const kind_names[] = {"launch", "copy", "memset", "event", "wait", "host", "free"};

struct Stream {
    unsigned number;
    bool blocking, alive;
    unsigned last;  // the operation issued last, or 0
};

struct Event {
    bool timing, alive;
    unsigned operation;  // that records it, or 0
    double time;
};

struct Operation {
    Kind kind;
    unsigned id, stream;
    const void* pc;
    std::vector<unsigned> after;      // must have run before
    std::vector<unsigned> ancestors;  // of those that are pending: all that must have run before
    std::vector<unsigned> beside;     // in no order with this one
    Launch launch;
    const char* symbol;
    const char* file;
    int line;
    std::vector<char> closure, staged;
    void* to;
    const void* from;
    size_t bytes;
    int value;
    cudaMemcpyKind direction;
    bool pinned;
    cudaError_t fails;  // injected
    Event* event;
    void (*function)(void*);
    void* data;
};

// FIRST: made before the program's own objects, and gone after them.
FIRST std::map<unsigned, Operation> pending_operations;
FIRST std::map<unsigned, Span> spans;  // of those that have run while others are pending
FIRST std::map<cudaStream_t, Stream> streams;
FIRST std::map<cudaEvent_t, Event> events;
unsigned operation_count, stream_count;
bool streams_in_use;
cudaError_t sticky, last_error;
const void* unread_launch_error;

bool is_pending(unsigned id) { return id && pending_operations.count(id); }

Stream* find_stream(cudaStream_t handle) {
    if (handle == cudaStreamLegacy || handle == cudaStreamPerThread) handle = nullptr;
    auto found = streams.find(handle);
    return found == streams.end() || !found->second.alive ? nullptr : &found->second;
}

void follow(Operation& op, unsigned earlier) {
    if (!is_pending(earlier)) return;
    op.after.push_back(earlier);
    for (unsigned a : pending_operations[earlier].ancestors)
        if (is_pending(a)) op.ancestors.push_back(a);
    op.ancestors.push_back(earlier);
}

void tidy(std::vector<unsigned>& ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// Queues an operation behind what its stream has before it. The default stream waits for all
// blocking streams, and they for it.
unsigned issue(Operation op, Stream& stream) {
    op.id = ++operation_count;
    op.stream = stream.number;
    follow(op, stream.last);
    if (stream.number == 0) {
        for (auto& other : streams)
            if (other.second.blocking) follow(op, other.second.last);
    } else if (stream.blocking) {
        follow(op, streams[nullptr].last);
    }
    if (op.kind == WAIT) follow(op, op.event->operation);
    if (op.kind == RECORD) op.event->operation = op.id;
    tidy(op.after);
    tidy(op.ancestors);
    if (streams_in_use) {
        for (auto& other : pending_operations) {
            if (std::binary_search(op.ancestors.begin(), op.ancestors.end(), other.first)) continue;
            op.beside.push_back(other.first);
            other.second.beside.push_back(op.id);
        }
    }
    stream.last = op.id;
    unsigned id = op.id;
    pending_operations.emplace(id, std::move(op));
    return id;
}

void tell_operation(const Operation& op, double begin, double end, cudaError_t error) {
    if (!may_tell(error)) return;
    Json& json = event("operation").number("id", op.id).word("kind", kind_names[op.kind]);
    json.number("stream", op.stream).code("pc", op.pc).number("error", error);
    json.seconds("begin", begin).seconds("end", end);
    json.key("after");
    char list[1024] = "[";
    for (unsigned a : op.after)
        if (strlen(list) < 1000) snprintf(list + strlen(list), 16, "%s%u", list[1] ? "," : "", a);
    json.raw(list);
    json.raw("]");
    if (op.kind == COPY || op.kind == SET) json.number("bytes", (long long)op.bytes);
    if (op.kind == COPY) json.number("direction", op.direction).number("pinned", op.pinned);
    if (op.kind == LAUNCH) {
        json.word("kernel", op.launch.kernel->name).place(op.file, op.line);
        if (op.symbol) json.word("symbol", op.symbol);
        json.triple("grid", op.launch.grid).triple("threads", op.launch.threads);
        json.number("dynamic", (long long)op.launch.dynamic_bytes);
        json.number("static", (long long)static_bytes);
    }
    json.send();
}

// A copy or memset touches memory as a thread does that is alone in its interval.
template <How how> void touch_range(const void* p, size_t bytes) {
    Allocation* a = find(p);
    if (!a || !streams_in_use || !a->cells) return;
    launch_first = block_first = interval;
    stamp = interval << 27;
    Touch* kept = touches;
    uint8_t* record = a->initialised;
    touches = nullptr;
    a->initialised = nullptr;
    uintptr_t end = (uintptr_t)p + bytes;
    for (uintptr_t at = (uintptr_t)p, step; at < end; at += step) {
        step = at % 4 == 0 && end - at >= 4 ? 4 : 1;
        check<how>((void*)at, step, call_pc);
    }
    touches = kept;
    a->initialised = record;
}

void copy_now(Operation& op) {
    ++interval;
    const void* from = op.staged.empty() ? op.from : op.staged.data();
    Allocation *target = find(op.to), *source = find(op.from);
    call_pc = op.pc;
    if (source && op.staged.empty()) touch_range<READ>(op.from, op.bytes);
    if (target) touch_range<WRITE>(op.to, op.bytes);
    memmove(op.to, from, op.bytes);
    size_t offset = source ? (uintptr_t)op.from - source->begin : 0;
    if (target) mark_initialised(*target, (uintptr_t)op.to - target->begin, op.bytes);
    long long hole = source && !target ? first_uninitialised(*source, offset, op.bytes) : -1;
    if (hole < 0 || !is_new("uninitialised_copy", op.pc)) return;
    Json& json = fault("uninitialised_copy", op.pc);
    describe(json, *source, source->begin + (size_t)hole);
    json.send();
}

void set_now(Operation& op) {
    ++interval;
    Allocation* target = find(op.to);
    call_pc = op.pc;
    touch_range<WRITE>(op.to, op.bytes);
    memset(op.to, op.value, op.bytes);
    if (target) mark_initialised(*target, (uintptr_t)op.to - target->begin, op.bytes);
}

cudaError_t execute(Operation& op) {
    running.operation = op.id;
    if (op.kind == LAUNCH) {
        running.kernel = op.launch.kernel;
        op.launch.closure = op.closure.data();
        return run_grid(op.launch);
    }
    if (op.kind == COPY) copy_now(op);
    if (op.kind == SET) set_now(op);
    if (op.kind == RECORD) op.event->time = now();
    if (op.kind == HOST_FUNCTION) open_device(false), op.function(op.data), open_device(true);
    if (op.kind == FREE) release(*find(op.to), op.pc);
    return cudaSuccess;
}

void find_unordered(const Operation& op) {
    unordered_count = 0;
    for (unsigned other : op.beside) {
        auto span = spans.find(other);
        if (span != spans.end() && unordered_count < MAX_SPANS) unordered[unordered_count++] = span->second;
    }
}

void run(unsigned id) {
    auto found = pending_operations.find(id);
    Operation& op = found->second;
    if (!sticky) {
        find_unordered(op);
        double begin = now();
        uint64_t first = interval + 1;
        const void* caller = call_pc;
        cudaError_t error = op.fails ? op.fails : execute(op);
        call_pc = caller;
        tell_operation(op, begin, now(), error);
        if (error == cudaErrorInvalidValue) last_error = error;  // refused: not a sticky error
        else if (error) sticky = error;
        if (!op.beside.empty()) spans[id] = Span{first, interval, id};
    }
    pending_operations.erase(found);
    if (pending_operations.empty()) spans.clear();
}

bool can_run(const Operation& op) {
    for (unsigned a : op.after)
        if (is_pending(a)) return false;
    return true;
}

// Runs these operations, all that they need before them included, and nothing else. Among those
// that may run next the one on the youngest stream does, or a drawn one: whoever relies on an
// order that nothing enforces is found out.
void run_all(std::vector<unsigned> wanted) {
    tidy(wanted);
    open_device(true);
    while (!wanted.empty()) {
        std::vector<unsigned> able;
        for (unsigned id : wanted)
            if (can_run(pending_operations[id])) able.push_back(id);
        unsigned chosen = able[0];
        if (config.seed) chosen = able[random_below((unsigned)able.size())];
        else for (unsigned id : able)
            if (pending_operations[id].stream > pending_operations[chosen].stream) chosen = id;
        run(chosen);
        wanted.erase(std::find(wanted.begin(), wanted.end(), chosen));
    }
    open_device(false);
}

void wait_for(unsigned id) {
    if (!is_pending(id)) return;
    std::vector<unsigned> wanted;
    for (unsigned a : pending_operations[id].ancestors)
        if (is_pending(a)) wanted.push_back(a);
    wanted.push_back(id);
    run_all(std::move(wanted));
}

void wait_for_all() {
    std::vector<unsigned> wanted;
    for (auto& op : pending_operations) wanted.push_back(op.first);
    if (!wanted.empty()) run_all(std::move(wanted));
}

}  // namespace
