const controller = new AbortController();

// Lambda sends SIGTERM only to sandboxes with an extension, the local runtime always: what runs then drains. Lambda's
// hard timeout comes without any signal.
process.once('SIGTERM', () => controller.abort(new Error('SIGTERM')));

/** Aborts when this process is asked to end. */
export const shutdown: AbortSignal = controller.signal;
