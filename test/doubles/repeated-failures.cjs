// Preloaded into a process of the service: once it listens for uncaught errors, one is thrown in each turn of the event loop.
process.on('newListener', (event) => {
  if (event !== 'uncaughtException') return;
  setImmediate(function fail() {
    setImmediate(fail);
    throw new Error('again');
  });
});
