/** The other end of `startHelper`: serves calls over the channel of a forked process and ends with it. */
export function serve(handlers) {
  process.on('message', ({ id, call, ...details }) => {
    void Promise.resolve()
      .then(() => handlers[call](details))
      .then(
        (result) => process.send({ id, result }),
        (error) => process.send({ id, error: error.stack }),
      );
  });
  process.on('disconnect', () => process.exit());
  // Ends by itself, so that a CPU profile is written.
  process.on('SIGTERM', () => process.exit());
}
