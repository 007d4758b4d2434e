import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClassNames, type NamedClass } from '../../../machines/spec/class-names.ts';

const FLOATING = 'digitalocean.com/floating-ip';
const named = (name: string, className: string): NamedClass => ({ name, className });
const of = (...classes: readonly NamedClass[]): ClassNames<NamedClass> => new ClassNames(classes);
const meant = (names: ClassNames<NamedClass>, text: string): unknown => {
  const meaning = names.meaningOf(text);
  if (meaning === null) return null;
  return 'one' in meaning ? meaning.one.name : meaning.several;
};

const NYC = named('nyc', FLOATING);
const FRA = named('fra', FLOATING);

describe('the className of a RoutedIP means', () => {
  test('the class that alone has it', () => expect(meant(of(NYC, named('edge', 'example.com/edge')), FLOATING)).toBe('nyc'));
  test('the class of that name', () => expect(meant(of(NYC, FRA), 'fra')).toBe('fra'));
  test('nothing where no class has it, nor is called so', () => expect(meant(of(NYC), 'fra')).toBeNull());
  test('nothing by an empty text', () => expect(meant(of(named('a', ''), named('b', '')), '')).toBeNull());
  test('one of several that share it: which, their names say', () => expect(meant(of(NYC, FRA), FLOATING)).toEqual(['fra', 'nyc']));
  test('the class that alone has it, before the one that is called so', () =>
    expect(meant(of(named('edge', FLOATING), named('other', 'edge')), 'edge')).toBe('other'));
  test('the one that is called so, where several have it', () =>
    expect(meant(of(named('edge', FLOATING), named('b', 'edge'), named('c', 'edge')), 'edge')).toBe('edge'));
  test('the one that stays, where the others that share it are being deleted', () =>
    expect(meant(of({ ...NYC, deleting: true }, FRA), FLOATING)).toBe('fra'));
  test('the class that alone has it while that is being deleted', () =>
    expect(meant(of({ ...NYC, deleting: true }), FLOATING)).toBe('nyc'));
  test('none by a name that means another one', () => expect(meant(of(NYC, FRA, named('other', 'fra')), FLOATING)).toEqual(['nyc']));
});

describe('a class', () => {
  const conflict = (names: ClassNames<NamedClass>, one: NamedClass) => names.conflictOf(one);
  const OTHER = named('other', 'fra');

  test('that shares nothing is told nothing', () => expect(conflict(of(NYC, OTHER), NYC)).toBeNull());

  test('that shares its className is had by its name', () =>
    expect(conflict(of(NYC, FRA), NYC)).toEqual({
      message: `ClusterRoutedIPClass fra has the className ${FLOATING}, too: a RoutedIP has this one by its name, className: nyc`,
      isOutOfReach: false,
    }));

  test('whose name is another’s className is had by its className', () =>
    expect(conflict(of(FRA, OTHER), FRA)).toEqual({
      message: `fra is the className of ClusterRoutedIPClass other, which RoutedIPs of that className have; this one they have by className: ${FLOATING}`,
      isOutOfReach: false,
    }));

  test('that nobody can name is told so', () =>
    expect(conflict(of(NYC, FRA, OTHER), FRA)).toEqual({
      message: expect.stringMatching(/no RoutedIP can name this one/),
      isOutOfReach: true,
    }));

  test('that shares with many names a few', () =>
    expect(conflict(of(NYC, ...[1, 2, 3, 4, 5, 6, 7].map((each) => named(`c${each}`, FLOATING))), NYC)?.message).toMatch(
      /^ClusterRoutedIPClass c1, c2, c3, c4, c5 and 2 more have the className /,
    ));
});

const word = fc.constantFrom('a', 'b', 'c', 'x', 'y');
const classes = fc.uniqueArray(fc.record({ name: word, className: word }), { selector: ({ name }) => name, maxLength: 5 });

test('the order of classes does not matter, and whatever is said to be a way to a class is one', () => {
  fc.assert(
    fc.property(classes, word, (some, text) => {
      const names = of(...some);
      expect(meant(of(...some.toReversed()), text)).toEqual(meant(names, text));
      const meaning = meant(names, text);
      if (Array.isArray(meaning)) for (const each of meaning) expect(meant(names, each)).toBe(each);
      for (const one of some) {
        const found = names.conflictOf(one);
        const ways = [one.name, one.className].filter((way) => meant(names, way) === one.name);
        expect(found?.isOutOfReach ?? false).toBe(ways.length === 0);
        if (found === null) expect(ways.length).toBeGreaterThan(0);
      }
    }),
  );
});
