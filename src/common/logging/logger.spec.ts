import { createLogger, logConsole } from './logger';

function collect(level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (text: string): void => {
    lines.push(JSON.parse(text) as Record<string, unknown>);
  };
  return { lines, logger: createLogger({ level, destination: { write } }) };
}

describe('createLogger', () => {
  it('writes JSON lines with level, ISO time and msg', () => {
    const { lines, logger } = collect();
    logger.info({ port: 3000 }, 'ready');
    logger.debug('not at this level');
    expect(lines).toEqual([
      { level: 'info', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), port: 3000, msg: 'ready' },
    ]);
  });

  it('masks secrets by name, at any depth, and leaves the object alone', () => {
    const { lines, logger } = collect();
    const fields = { Authorization: 'Bearer x', request: { headers: { cookie: 'x' }, apiKeyId: 'k' }, html: '<p>' };
    logger.info(fields, 'x');
    expect(lines[0]).toMatchObject({
      Authorization: '[redacted]',
      request: { headers: { cookie: '[redacted]' }, apiKeyId: 'k' },
      html: '[redacted]',
    });
    expect(fields.html).toBe('<p>');
  });

  it('keeps the parameters of a failed query out', () => {
    const { lines, logger } = collect();
    const driverError = Object.assign(new Error('duplicate key'), {
      code: '23505',
      constraint: 'c',
      detail: 'Key (jane@x)',
    });
    const error = Object.assign(new Error('query failed', { cause: driverError }), {
      parameters: ['jane@x'],
      query: 'insert',
    });
    logger.error({ err: error }, 'failed');
    expect(lines[0]).toMatchObject({
      err: { type: 'Error', message: 'query failed', cause: { code: '23505', constraint: 'c' } },
    });
    expect(JSON.stringify(lines)).not.toContain('jane');
  });

  it('keeps control characters inside their line', () => {
    const { lines, logger } = collect();
    logger.info({ name: 'a\nb\u001b[31m' }, 'one\ntwo');
    expect(lines).toHaveLength(1);
  });
});

describe('logConsole', () => {
  const before = { ...console };
  afterEach(() => void Object.assign(console, before));

  it('makes lines of what libraries write to the console', () => {
    const { lines, logger } = collect();
    logConsole(logger);
    console.log('TOTAL', 3, 'EXPECTING', 9);
    console.error('x\n%s', 'y');
    expect(lines).toEqual([{ level: 'warn', time: expect.any(String), context: 'console', msg: 'x\ny' }]);
  });
});
