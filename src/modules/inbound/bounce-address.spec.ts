import { readBounceAddress } from './bounce-address';

const MAIL_HOST = 'mail.example.org';
const read = (address: string) => readBounceAddress(address, MAIL_HOST);

describe('readBounceAddress', () => {
  it.each([
    ['b+token@mail.example.org', 'b+token'],
    ['B+TOKEN@MAIL.EXAMPLE.ORG', 'B+TOKEN'],
    ['b+token@bounce.customer.example', 'b+token'],
    ['b+token@bounce.bücher.example', 'b+token'],
    ['anyone@mail.example.org', 'anyone'],
    ['@mail.example.org', ''],
  ])('hands on the local part of %s', (address, localPart) => {
    expect(read(address)).toEqual({ kind: 'ours', localPart });
  });

  it.each([
    'b+token@example.org',
    'b+token@mail.example.org.example.com',
    'b+token@xmail.example.org',
    'b+token@bounce',
    'b+token@bounce.',
    'b+token@notbounce.example.org',
    'b+token@[127.0.0.1]',
    'b+token@',
    'victim%example.com@mail.example.org',
    'example.com!victim@mail.example.org',
    'victim@example.com@mail.example.org',
    '@relay.example:victim@mail.example.org',
    'example.com!victim',
  ])('calls %s foreign', (address) => {
    expect(read(address)).toEqual({ kind: 'foreign' });
  });

  it('knows no address without a domain', () => {
    expect(read('postmaster')).toEqual({ kind: 'unknown' });
    expect(read('')).toEqual({ kind: 'unknown' });
  });
});
