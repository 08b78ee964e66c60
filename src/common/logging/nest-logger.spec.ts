import { createLogger } from './logger';
import { NestLogger } from './nest-logger';

function collect(level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (text: string): void => void lines.push(JSON.parse(text) as Record<string, unknown>);
  return { lines, logger: createLogger({ level, destination: { write } }) };
}

describe('NestLogger', () => {
  it('turns every form of call into a line', () => {
    const { lines, logger } = collect('trace');
    const nest = new NestLogger(logger);
    nest.log('started', 'Context');
    nest.warn({ a: 1 }, 'Context');
    nest.error(new Error('bad'), 'stack', 'Context');
    nest.debug('plain');
    nest.verbose('detail', 'Context');
    nest.fatal('end', 'Context');
    expect(lines).toMatchObject([
      { level: 'info', context: 'Context', msg: 'started' },
      { level: 'warn', msg: '{"a":1}' },
      { level: 'error', msg: 'bad', err: { message: 'bad' }, details: ['stack'] },
      { level: 'debug', msg: 'plain' },
      { level: 'trace', msg: 'detail' },
      { level: 'fatal', msg: 'end' },
    ]);
  });

  it('makes the fields of an object fields of the line: masked, and errors with their stacks', () => {
    const { lines, logger } = collect();
    const nest = new NestLogger(logger);
    nest.warn({ msg: 'tried', emailId: 'e', password: 'secret' }, 'Context');
    nest.error({ msg: 'failed', error: new Error('bad') }, undefined, 'Context');
    expect(lines).toMatchObject([
      { level: 'warn', context: 'Context', msg: 'tried', emailId: 'e' },
      { level: 'error', context: 'Context', msg: 'failed', err: { message: 'bad', stack: expect.any(String) } },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('keeps messages of Nest at its start out of the log', () => {
    const { lines, logger } = collect();
    const nest = new NestLogger(logger);
    nest.log('AppModule dependencies initialized', 'InstanceLoader');
    nest.log('Mapped {/v1/emails, POST} route', 'RouterExplorer');
    nest.log('said by us', 'Database');
    nest.error('failed', 'stack', 'InstanceLoader');
    expect(lines).toMatchObject([{ msg: 'said by us' }, { level: 'error', msg: 'failed' }]);
  });

  describe('warnings and errors that repeat', () => {
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());

    it('are one line, and then one a minute with their count', () => {
      const { lines, logger } = collect();
      const nest = new NestLogger(logger);
      for (let count = 0; count < 50; count += 1) nest.warn('away', 'Worker');
      nest.warn('away', 'Api');
      nest.error('away', undefined, 'Worker');
      nest.warn('full', 'Worker');
      expect(lines.splice(0)).toMatchObject([
        { level: 'warn', context: 'Worker', msg: 'away' },
        { level: 'warn', context: 'Api', msg: 'away' },
        { level: 'error', context: 'Worker', msg: 'away' },
        { level: 'warn', context: 'Worker', msg: 'full' },
      ]);
      jest.advanceTimersByTime(60_000);
      expect(lines.splice(0)).toMatchObject([
        { level: 'warn', context: 'Worker', msg: 'away', logged: 1, leftOut: 49, seconds: 60 },
      ]);
      nest.warn('away', 'Worker');
      expect(lines).toHaveLength(1);
    });

    it('are a hundred lines a minute where their fields differ', () => {
      const { lines, logger } = collect();
      const nest = new NestLogger(logger);
      for (let count = 0; count < 150; count += 1) nest.warn({ msg: 'tried', emailId: count }, 'Worker');
      expect(lines.splice(0)).toHaveLength(100);
      jest.advanceTimersByTime(60_000);
      expect(lines).toMatchObject([{ msg: 'tried', logged: 100, leftOut: 50 }]);
    });

    it('have two hundred texts of a context, and leave those of others alone', () => {
      const { lines, logger } = collect();
      const nest = new NestLogger(logger);
      for (let count = 0; count < 300; count += 1) nest.warn(`item ${count}`, 'Worker');
      nest.warn('item 0', 'Worker');
      nest.warn('item 0', 'Api');
      expect(lines.splice(0)).toHaveLength(201);
      jest.advanceTimersByTime(60_000);
      expect(lines).toMatchObject([
        { context: 'Worker', msg: 'further lines were left out', leftOut: 100 },
        { context: 'Worker', msg: 'item 0', leftOut: 1 },
      ]);
    });

    it('do not concern lines below a warning', () => {
      const { lines, logger } = collect();
      const nest = new NestLogger(logger);
      for (let count = 0; count < 50; count += 1) nest.log('done', 'Worker');
      expect(lines).toHaveLength(50);
    });
  });
});
