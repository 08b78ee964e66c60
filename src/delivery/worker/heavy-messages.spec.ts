import { HeavyMessages } from './heavy-messages';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Begins to send a message; `finish` ends the conversation. */
function send(heavy: HeavyMessages, id: string, weight: number, made: string[]) {
  let finish: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (finish = resolve));
  const make = () => {
    made.push(id);
    return Promise.resolve(Buffer.from(id));
  };
  const done = heavy.use({ id, weight }, make, async (message) => {
    await over;
    return message.toString();
  });
  return { finish, done };
}

describe('HeavyMessages', () => {
  it('lets in what fits, the rest in turn', async () => {
    const heavy = new HeavyMessages(100);
    const made: string[] = [];
    const first = send(heavy, 'first', 60, made);
    const second = send(heavy, 'second', 60, made);
    const third = send(heavy, 'third', 40, made);
    await settled();
    expect(made).toEqual(['first']);
    first.finish();
    await expect(first.done).resolves.toBe('first');
    await settled();
    expect(made).toEqual(['first', 'second', 'third']);
    second.finish();
    third.finish();
    await expect(Promise.all([second.done, third.done])).resolves.toEqual(['second', 'third']);
  });

  it('lets in one alone that weighs more than all may', async () => {
    const heavy = new HeavyMessages(100);
    const made: string[] = [];
    const light = send(heavy, 'light', 1, made);
    const huge = send(heavy, 'huge', 500, made);
    await settled();
    expect(made).toEqual(['light']);
    light.finish();
    huge.finish();
    await expect(huge.done).resolves.toBe('huge');
  });

  it('shares the message among its recipients and forgets it after the last one', async () => {
    const heavy = new HeavyMessages(100);
    const made: string[] = [];
    const one = send(heavy, 'email', 100, made);
    const other = send(heavy, 'email', 100, made);
    one.finish();
    await one.done;
    const third = send(heavy, 'email', 100, made);
    other.finish();
    third.finish();
    await Promise.all([other.done, third.done]);
    expect(made).toEqual(['email']);
    const later = send(heavy, 'email', 100, made);
    later.finish();
    await later.done;
    expect(made).toEqual(['email', 'email']);
  });

  it('gives the room back when a message cannot be made', async () => {
    const heavy = new HeavyMessages(100);
    const broken = heavy.use(
      { id: 'broken', weight: 100 },
      () => Promise.reject(new Error('content gone')),
      () => Promise.resolve(),
    );
    await expect(broken).rejects.toThrow('content gone');
    const made: string[] = [];
    const next = send(heavy, 'next', 100, made);
    next.finish();
    await expect(next.done).resolves.toBe('next');
  });
});
