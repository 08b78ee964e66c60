import { ClientConnections } from './dkim-zone-limits';

describe('connections of one client', () => {
  it('are so many of an IPv4 address, and of a /64 of IPv6', () => {
    const clients = new ClientConnections(2);
    const leave = clients.enter('2001:db8:1:2::1');
    expect(clients.enter('2001:db8:1:2:3:4:5:6')).toBeDefined();
    expect(clients.enter('2001:db8:1:2::7')).toBeUndefined();
    expect(clients.enter('2001:db8:1:3::1')).toBeDefined();
    leave?.();
    expect(clients.enter('2001:db8:1:2::7')).toBeDefined();
    expect(clients.enter('192.0.2.1')).toBeDefined();
    expect(clients.enter('::ffff:192.0.2.1')).toBeDefined();
    expect(clients.enter('192.0.2.1')).toBeUndefined();
    expect(clients.enter('192.0.2.2')).toBeDefined();
  });
});
