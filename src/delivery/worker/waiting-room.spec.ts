import { claimOf } from '../../../test/setup/recipient-copies';
import { type Waiting, WaitingRoom } from './waiting-room';

const item = (organizationId: string, destination: string, position = 0, isLarge = false): Waiting => ({
  claim: claimOf(position, { organizationId, destination }),
  readyMs: 0,
  isLarge,
});
const nameOf = ({ claim }: Waiting) => `${claim.organizationId} ${claim.destination} ${claim.position}`;

describe('WaitingRoom', () => {
  const take = (room: WaitingRoom<Waiting>, most: number, refuses: (item: Waiting) => boolean = () => false) => {
    const taken: string[] = [];
    room.offer((next) => {
      if (taken.length === most) return 'full';
      if (refuses(next)) return false;
      taken.push(nameOf(next));
      return true;
    });
    return taken;
  };

  it('serves tenants and destinations in turn', () => {
    const room = new WaitingRoom<Waiting>();
    for (const position of [0, 1, 2]) room.add(item('a', 'x', position));
    room.add(item('a', 'y'));
    room.add(item('b', 'x'));
    expect(take(room, 3)).toEqual(['a x 0', 'b x 0', 'a y 0']);
    expect(take(room, 9)).toEqual(['a x 1', 'a x 2']);
    expect(room.size).toBe(0);
  });

  it('serves a tenant by its own turn, however many destinations another has', () => {
    const room = new WaitingRoom<Waiting>();
    for (let n = 0; n < 100; n += 1) room.add(item('noisy', `d${n % 20}`, n));
    expect(take(room, 30)).toHaveLength(30);
    for (let n = 0; n < 3; n += 1) room.add(item('quiet', 'd0', n));
    expect(take(room, 6).filter((name) => name.startsWith('quiet'))).toHaveLength(3);
  });

  it('passes over a tenant that has its share, with all its destinations', () => {
    const room = new WaitingRoom<Waiting>();
    for (const destination of ['x', 'y', 'z']) room.add(item('a', destination));
    room.add(item('b', 'x'));
    const offered: string[] = [];
    room.offer((next) => {
      offered.push(nameOf(next));
      return next.claim.organizationId === 'a' ? 'tenant' : true;
    });
    expect(offered).toEqual(['a x 0', 'b x 0']);
    expect([...room].map(nameOf)).toEqual(['a x 0', 'a y 0', 'a z 0']);
  });

  it('goes on with the others when one is refused, and ends when all are', () => {
    const room = new WaitingRoom<Waiting>();
    for (const position of [0, 1]) room.add(item('a', 'slow', position));
    for (const position of [0, 1]) room.add(item('b', 'x', position));
    expect(take(room, 9, ({ claim }) => claim.destination === 'slow')).toEqual(['b x 0', 'b x 1']);
    expect(room.size).toBe(2);
  });

  it('lets small mail pass large mail that may not begin', () => {
    const room = new WaitingRoom<Waiting>();
    room.add(item('a', 'x', 0, true));
    room.add(item('a', 'x', 1));
    expect(take(room, 9, ({ isLarge }) => isLarge)).toEqual(['a x 1']);
    expect(take(room, 9)).toEqual(['a x 0']);
  });

  it('gives out what has waited for too long', () => {
    const room = new WaitingRoom<Waiting>();
    room.add({ ...item('a', 'x', 0), readyMs: 1 });
    room.add({ ...item('a', 'x', 1), readyMs: 9 });
    expect(room.remove(({ readyMs }) => readyMs < 5).map(nameOf)).toEqual(['a x 0']);
    expect([...room].map(nameOf)).toEqual(['a x 1']);
    expect(room.size).toBe(1);
  });
});
