import 'reflect-metadata';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  Equals,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { ValidationError } from '../../errors/app-error';
import { QueryBoolean, QueryInteger, Timestamp } from './dto-decorators';
import { DtoPipe, validateDto } from './validate-dto';

class Recipient {
  @IsString() @Length(3, 20) email!: string;
  @IsOptional() @IsString() label?: string;
}

class Message {
  @IsString() @Length(1, 10) subject!: string;
  @IsOptional() @IsString() text?: string;
  @IsOptional() @IsArray() @ArrayMaxSize(3) @IsIn(['a', 'b'], { each: true }) tags?: string[];
  @IsOptional() @IsArray() @ValidateNested({ each: true }) @Type(() => Recipient) to?: Recipient[];
  @IsOptional() @Timestamp() at?: Date;
  @IsOptional() @QueryInteger(1, 100) limit = 20;
  @IsOptional() @QueryBoolean() deep?: boolean;
}

function problems(value: unknown): Record<string, string[]> {
  try {
    validateDto(Message, value);
    return {};
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError);
    return (error as ValidationError).details?.validation as Record<string, string[]>;
  }
}

describe('validateDto', () => {
  it('returns an instance with defaults and converted values', () => {
    const message = validateDto(Message, {
      subject: 'x',
      at: '2026-11-20',
      limit: '5',
      deep: 'true',
      to: [{ email: 'a@b' }],
    });
    expect(message).toBeInstanceOf(Message);
    expect(message).toEqual({ subject: 'x', at: new Date('2026-11-20'), limit: 5, deep: true, to: [{ email: 'a@b' }] });
    expect(validateDto(Message, { subject: 'x' }).limit).toBe(20);
  });

  it('reads a query without a prototype', () => {
    expect(validateDto(Message, Object.assign(Object.create(null) as object, { subject: 'x' })).subject).toBe('x');
  });

  it('takes null for absent', () => {
    expect(validateDto(Message, { subject: 'x', text: null, limit: null })).toEqual({ subject: 'x', limit: 20 });
    expect(problems({ subject: null })).toHaveProperty('subject');
    const { to } = validateDto(Message, { subject: 'x', to: [{ email: 'a@b', label: null }] });
    expect(to).toEqual([{ email: 'a@b' }]);
    expect(Object.keys(to?.[0] ?? {})).not.toContain('label');
    const wrong = problems({ subject: 'x', to: [{ email: null, name: null }] });
    expect(Object.keys(wrong).sort()).toEqual(['to[0].email', 'to[0].name']);
  });

  it('names every wrong field by its path', () => {
    const found = problems({ subject: 5, unknown: 1, to: [{ email: 'a@b' }, { email: 'x', name: 'y' }] });
    expect(Object.keys(found).sort()).toEqual(['subject', 'to[1].email', 'to[1].name', 'unknown']);
    expect(found.unknown).toEqual(['unknown is not a known field']);
  });

  it('gives one message for a field, the one that helps', () => {
    const found = problems({ subject: 5, to: [{ email: 7, name: 'y' }], tags: 'a' });
    expect(found).toEqual({
      subject: ['subject must be a string'],
      'to[0].email': ['email must be a string'],
      'to[0].name': ['to[0].name is not a known field'],
      tags: ['tags must be an array'],
    });
    expect(problems({ subject: 'x'.repeat(11) }).subject).toEqual(['subject must have at most 10 characters']);
  });

  it.each([
    [{ list: ['a', 'a'] }, 'list must name nothing twice'],
    [{ list: [] }, 'list must not be empty'],
    [{ list: ['c'] }, 'each value in list must be one of a, b'],
    [{ kind: 'c' }, 'kind must be one of a, b'],
    [{ name: '' }, 'name must not be empty'],
    [{ name: 'x'.repeat(21) }, 'name must have at most 20 characters'],
    [{ code: 5 }, 'code must have 3 to 20 characters'],
    [{ code: 'x' }, 'code must have at least 3 characters'],
    [{ agreed: false }, 'agreed must be true'],
    [{ on: 'yes' }, 'on must be true or false'],
    [{ count: 1.5 }, 'count must be an integer'],
    [{ count: 0 }, 'count must be at least 1'],
    [{ count: 10 }, 'count must be at most 9'],
  ])('says plainly what is wrong with %j', (given, message) => {
    class Plain {
      @IsOptional() @ArrayMinSize(1) @ArrayUnique() @IsIn(['a', 'b'], { each: true }) list?: string[];
      @IsOptional() @IsIn(['a', 'b']) kind?: string;
      @IsOptional() @Length(1, 20) name?: string;
      @IsOptional() @Length(3, 20) code?: string;
      @IsOptional() @Equals(true) agreed?: boolean;
      @IsOptional() @IsBoolean() on?: boolean;
      @IsOptional() @IsInt() @Min(1) @Max(9) count?: number;
    }
    const [name] = Object.keys(given);
    expect(() => validateDto(Plain, given)).toThrow(
      expect.objectContaining({ details: { validation: { [String(name)]: [message] } } }),
    );
  });

  it.each([
    ['Subject', 'subject'],
    ['sub_ject', 'subject'],
    ['subjct', 'subject'],
    ['tgas', undefined],
    ['recipients', undefined],
  ])('for %s it suggests %s', (name, meant) => {
    const suggestion = meant === undefined ? '' : `; did you mean ${meant}?`;
    expect(problems({ subject: 'x', [name]: 1 })[name]).toEqual([`${name} is not a known field${suggestion}`]);
  });

  it('names unknown fields in a response that does not grow with their number', () => {
    const made = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`f${index}`.padEnd(5_000, 'x'), 1]));
    const found = problems({ subject: 'x', ...made });
    expect(JSON.stringify(found).length).toBeLessThan(10_000);
    expect(Object.values(found).at(-1)).toEqual([
      expect.stringMatching(/^f49x+ is not a known field, nor are 950 more$/),
    ]);
  });

  it.each([
    ['null', null],
    ['nothing', undefined],
    ['an array', []],
    ['a string', 'x'],
    ['a number', 1],
  ])('refuses %s for an object', (_name, value) => {
    expect(problems(value)).toEqual({ body: ['must be a JSON object'] });
  });

  it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])('refuses the field %s', (name) => {
    const value = JSON.parse(`{"subject":"x","${name}":{"limit":1}}`) as object;
    expect(problems(value)).toEqual({ [name]: [`${name} is not a known field`] });
    expect(({} as { limit?: number }).limit).toBeUndefined();
  });

  it('measures an array before it looks at the elements', () => {
    expect(problems({ subject: 'x', tags: Array(4).fill('bad') })).toEqual({
      tags: ['tags must contain no more than 3 elements'],
    });
    expect(problems({ subject: 'x', to: Array(1_001).fill({}) })).toEqual({
      to: ['to must contain no more than 1000 elements'],
    });
  });

  it.each([
    '1e1',
    '0x10',
    ' 1',
    '1 ',
    '+1',
    '-1',
    '01',
    '1.0',
    '',
    '0',
    '101',
    ['1', '2'],
    'NaN',
    '99999999999999999999',
  ])('is strict about integers: %j', (limit) => {
    expect(problems({ subject: 'x', limit })).toEqual({ limit: ['limit must be an integer from 1 to 100'] });
  });

  it('is strict about booleans and timestamps', () => {
    expect(Object.keys(problems({ subject: 'x', deep: '1', at: '2026-11-20T10:00:00' }))).toEqual(['at', 'deep']);
  });
});

describe('DtoPipe', () => {
  const pipe = new DtoPipe();

  it('leaves what declares no class alone', () => {
    for (const metatype of [undefined, Object, String, Array]) {
      expect(pipe.transform('x', { type: 'body', metatype })).toBe('x');
    }
    expect(pipe.transform('x', { type: 'custom', metatype: Message })).toBe('x');
  });

  it('says of a query field that stands twice that it may not, whatever else is wrong', () => {
    const query = { subject: ['x', 'y'], limit: ['1', '1'], deep: 'no', unknown: ['a', 'b'] };
    expect(() => pipe.transform(query, { type: 'query', metatype: Message })).toThrow(
      expect.objectContaining({
        details: { validation: { subject: ['subject must be given once'], limit: ['limit must be given once'] } },
      }),
    );
    const tags = ['a', 'b'];
    expect(pipe.transform({ subject: 'x', tags }, { type: 'body', metatype: Message })).toMatchObject({ tags });
  });

  it('refuses any field for a class that declares none', () => {
    class Empty {
      readonly nothing?: never;
    }
    expect(pipe.transform({}, { type: 'query', metatype: Empty })).toEqual({});
    expect(() => pipe.transform({ a: 1 }, { type: 'query', metatype: Empty })).toThrow(ValidationError);
  });
});

describe('a timestamp whose offset begins with a plus', () => {
  it.each([
    '2026-11-20T10:00:00+02:00',
    '2026-11-20T10:00:00 02:00',
    '2026-11-20T10:00 0200',
    '2026-11-20T10:00:00.000 02',
  ])('is read as a query string brings it: %s', (at) =>
    expect(validateDto(Message, { subject: 'Hello', at }).at).toEqual(new Date('2026-11-20T08:00:00Z')),
  );

  it.each(['2026-11-20 10:00:00Z', '2026-11-20 10', '2026-11-20T10:00:00  02:00', '2026-11-20T10:00:00'])(
    'is not made of %s',
    (at) => expect(problems({ subject: 'Hello', at })).toHaveProperty('at'),
  );
});
