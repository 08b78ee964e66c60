import { peakMemoryOf } from './usage.mjs';

/** The product with row-level security, compared with itself without it. */
export async function compareWalls(bench, { name, unit, perRequest, target }) {
  const load = await bench.startHelper('http-load');
  const contenders = [];
  for (const isOn of [false, true]) {
    const api = await bench.startProduct('api', { ROW_LEVEL_SECURITY: String(isOn) });
    contenders.push({
      name: isOn ? 'product' : 'without row-level security',
      run: async (seconds) => {
        const { count, ...more } = await load.call('run', {
          ...target,
          port: api.port,
          key: bench.tenant.key,
          seconds,
        });
        return { ...more, count: count * perRequest };
      },
      processes: { api: api.pid, postgres: { tree: bench.postgresPid }, load: load.pid },
      api,
    });
  }
  return {
    name,
    unit,
    contenders,
    targets: { 'without row-level security': 0.95 },
    memory: () => Object.fromEntries(contenders.map(({ name: of, api }) => [`api, ${of}`, peakMemoryOf(api.pid)])),
    finish: () => Promise.all([load, ...contenders.map(({ api }) => api)].map((process) => process.stop())),
  };
}
