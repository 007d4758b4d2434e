import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSelector, type Requirement, selects } from '../../../machines/model/selector.ts';

const need = (key: string, operator: Requirement['operator'], ...values: string[]): Requirement => ({ key, operator, values });

describe('a label selector', () => {
  test('of thousands of values is not looked through for each object, and one of hundreds of conditions is refused', () => {
    const values = Array.from({ length: 5_000 }, (_, index) => `v${index}`);
    const oneByOne = (): never => {
      throw new Error('looked through');
    };
    const looked = [need('a', 'in', ...values), need('a', 'notin', 'x', ...values)].map((each) => ({
      ...each,
      values: Object.assign(each.values, { includes: oneByOne }),
    }));
    expect(looked.map((each) => [{ a: 'v4999' }, { a: 'x' }, { a: 'y' }].map((labels) => selects([each], labels)))).toEqual([
      [true, false, false],
      [false, false, true],
    ]);
    const conditions = (count: number) => Array.from({ length: count }, (_, index) => `!a${index}`).join(',');
    expect(parseSelector(conditions(100))).toHaveLength(100);
    expect(() => parseSelector(conditions(101))).toThrow('101 conditions, and at most 100 are looked at');
  });

  test.each<[string, Requirement[]]>([
    ['', []],
    ['  \t ', []],
    ['a=b', [need('a', 'in', 'b')]],
    ['a==b', [need('a', 'in', 'b')]],
    ['a!=b', [need('a', 'notin', 'b')]],
    ['a=', [need('a', 'in', '')]],
    ['a!=', [need('a', 'notin', '')]],
    ['a', [need('a', 'exists')]],
    ['!a', [need('a', 'missing')]],
    ['! a', [need('a', 'missing')]],
    ['a in (b)', [need('a', 'in', 'b')]],
    ['a in (b,c)', [need('a', 'in', 'b', 'c')]],
    ['a notin (b,c)', [need('a', 'notin', 'b', 'c')]],
    ['a in (b,)', [need('a', 'in', 'b', '')]],
    ['a in (,)', [need('a', 'in', '', '')]],
    ['in in (in)', [need('in', 'in', 'in')]],
    ['a in(b)', [need('a', 'in', 'b')]],
    [' a  =  b , c ', [need('a', 'in', 'b'), need('c', 'exists')]],
    ['\ta\tnotin\n( b ,\tc )', [need('a', 'notin', 'b', 'c')]],
    ['a=b,c!=d,e in (f,g),!h', [need('a', 'in', 'b'), need('c', 'notin', 'd'), need('e', 'in', 'f', 'g'), need('h', 'missing')]],
    ['doks.digitalocean.com/node-pool=work', [need('doks.digitalocean.com/node-pool', 'in', 'work')]],
    ['A_b.c-9=X_y.z-0', [need('A_b.c-9', 'in', 'X_y.z-0')]],
  ])('reads %j', (text, requirements) => expect(parseSelector(text)).toEqual(requirements));

  test.each([
    ['a b', '"a b" is no label key, in "a b"'],
    [',', '"" is no label key, in ""'],
    ['a=b,', '"" is no label key, in ""'],
    ['a,,b', '"" is no label key, in ""'],
    ['=b', '"=b" is no label key, in "=b"'],
    ['!a=b', '"a=b" is no label key, in "!a=b"'],
    ['!!a', '"!a" is no label key, in "!!a"'],
    ['a===b', '"a===b" is no label key, in "a===b"'],
    ['-a=b', '"-a" is no label key, in "-a=b"'],
    ['/a=b', '"/a" is no label key, in "/a=b"'],
    ['a/=b', '"a/" is no label key, in "a/=b"'],
    ['a/b/c', '"a/b/c" is no label key, in "a/b/c"'],
    ['Example.com/a', '"Example.com/a" is no label key, in "Example.com/a"'],
    [`${'x'.repeat(64)}=b`, `"${'x'.repeat(64)}" is no label key, in "${'x'.repeat(64)}=b"`],
    [`${'x'.repeat(254)}/a`, `"${'x'.repeat(254)}/a" is no label key, in "${'x'.repeat(254)}/a"`],
    ['a=-b', '"-b" is no label value, in "a=-b"'],
    [`a=${'x'.repeat(64)}`, `"${'x'.repeat(64)}" is no label value, in "a=${'x'.repeat(64)}"`],
    ['ok,a in (b c)', '"b c" is no label value, in "a in (b c)"'],
    ['a in ()', 'no values are given, in "a in ()"'],
    ['a notin ( )', 'no values are given, in "a notin ( )"'],
    ['a in (b', 'unbalanced parentheses in "a in (b"'],
    ['a in b)', 'unbalanced parentheses in "a in b)"'],
    ['a IN (b)', '"a IN (b)" is no label key, in "a IN (b)"'],
  ])('refuses %j and names the part', (text, message) => {
    expect(() => parseSelector(text)).toThrow(new SyntaxError(message));
  });

  test('takes keys and values of 63 characters, and a prefix of 253', () => {
    const long = 'x'.repeat(63);
    const prefix = `${'x'.repeat(249)}.com`;
    expect(parseSelector(`${prefix}/${long}=${long}`)).toEqual([need(`${prefix}/${long}`, 'in', long)]);
  });
});

describe('labels', () => {
  test.each<[string, Record<string, string>, boolean]>([
    ['', {}, true],
    ['a=b', { a: 'b' }, true],
    ['a=b', { a: 'c' }, false],
    ['a=b', {}, false],
    ['a=', { a: '' }, true],
    ['a=', {}, false],
    ['a!=b', { a: 'c' }, true],
    ['a!=b', { a: 'b' }, false],
    ['a!=b', {}, true],
    ['a in (b,c)', { a: 'c' }, true],
    ['a in (b,c)', {}, false],
    ['a notin (b,c)', { a: 'c' }, false],
    ['a notin (b,c)', {}, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['!a', { a: '' }, false],
    ['a=b,c', { a: 'b' }, false],
    ['a=b,c', { a: 'b', c: '' }, true],
    ['constructor', {}, false],
    ['!toString', {}, true],
  ])('under %j, %o are selected: %s', (text, labels, selected) => {
    expect(selects(parseSelector(text), labels)).toBe(selected);
  });
});

const name = fc.stringMatching(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?$/);
const prefix = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,5}[a-z0-9])?(\.[a-z]{2,3})?$/);
const key = fc.oneof(
  name,
  fc.tuple(prefix, name).map(([first, last]) => `${first}/${last}`),
);
const value = fc.oneof(name, fc.constant(''));
const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom('in' as const, 'notin' as const),
    values: fc.array(value, { minLength: 1, maxLength: 4 }).filter((values) => values.length > 1 || values[0] !== ''),
  }),
  fc.record({ key, operator: fc.constantFrom('in' as const, 'notin' as const), values: fc.constant(['']) }),
  fc.record({ key, operator: fc.constantFrom('exists' as const, 'missing' as const), values: fc.constant([]) }),
);

/** A requirement as text, in one of the forms that mean it. */
function printed({ key: label, operator, values }: Requirement, space: string, short: boolean): string {
  if (operator === 'exists') return label;
  if (operator === 'missing') return `!${space}${label}`;
  const [only] = values;
  if (values.length === 1 && (short || only === '')) return `${label}${space}${operator === 'in' ? '=' : '!='}${space}${only}`;
  return `${label} ${operator}${space}(${values.map((each) => `${space}${each}${space}`).join(',')})`;
}

test('what is printed is read back the same, whatever the spacing and the form', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 5 }), fc.constantFrom('', ' ', '  ', '\t'), fc.boolean(), (wanted, space, short) => {
      const text = wanted.map((each) => printed(each, space, short)).join(`${space},${space}`);
      expect(parseSelector(text)).toEqual(wanted);
    }),
  );
});

test('any text is read or refused with a SyntaxError, never anything else', () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab=!,()/ in.-_é'), maxLength: 24 });
  let refused = 0;
  let read = 0;
  fc.assert(
    fc.property(text, (given) => {
      try {
        parseSelector(given);
        read += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError);
        refused += 1;
      }
    }),
    { numRuns: 1000 },
  );
  expect(Math.min(read, refused)).toBeGreaterThan(0);
});
