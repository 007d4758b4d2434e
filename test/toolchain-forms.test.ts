import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parsePlugin } from '../plugin/command-line.ts';

const FOLDER = join(import.meta.dirname, '../.github/ISSUE_TEMPLATE');
const forms = readdirSync(FOLDER).filter((name) => name !== 'config.yml');
const text = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

const TEXT = { type: 'string', minLength: 1 };
const closed = (required: readonly string[], properties: Readonly<Record<string, object>>) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});
const element = (type: string, needed: readonly string[], attributes: Readonly<Record<string, object>>) =>
  closed(type === 'markdown' ? ['type', 'attributes'] : ['type', 'id', 'attributes'], {
    type: { const: type },
    id: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
    attributes: closed(needed, attributes),
    validations: closed(['required'], { required: { type: 'boolean' } }),
  });
const LABELLED = { label: TEXT, description: TEXT };
const LINE = { ...LABELLED, placeholder: TEXT, value: TEXT };

/** What GitHub takes for an issue form. Here an element has an id too, by which links fill it in. */
const FORM = closed(['name', 'description', 'body'], {
  name: { type: 'string', minLength: 3 },
  description: { type: 'string', minLength: 3, maxLength: 200 },
  title: TEXT,
  labels: { type: 'array', items: TEXT, uniqueItems: true },
  body: {
    type: 'array',
    contains: { properties: { type: { not: { const: 'markdown' } } } },
    items: {
      type: 'object',
      required: ['type'],
      discriminator: { propertyName: 'type' },
      oneOf: [
        element('markdown', ['value'], { value: TEXT }),
        element('input', ['label'], LINE),
        element('textarea', ['label'], { ...LINE, render: TEXT }),
        // The word "none" alone is what GitHub itself offers where an answer is not required.
        element('dropdown', ['label', 'options'], {
          ...LABELLED,
          multiple: { type: 'boolean' },
          options: {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', minLength: 1, not: { pattern: '^[Nn]one$' } },
          },
        }),
        element('checkboxes', ['label', 'options'], {
          ...LABELLED,
          options: { type: 'array', minItems: 1, items: closed(['label'], { label: TEXT, required: { type: 'boolean' } }) },
        }),
      ],
    },
  },
});

interface Form {
  readonly body: readonly { readonly id?: string; readonly attributes: { readonly label?: string } }[];
}

const valid = new Ajv({ discriminator: true, allErrors: true }).compile<Form>(FORM);

/** What GitHub would refuse in a form, as sentences. */
const wrongs = (yaml: string): readonly string[] => {
  const form: unknown = parse(yaml);
  if (!valid(form)) return (valid.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  const elements = form.body;
  const twice = (values: readonly (string | undefined)[]) =>
    values.filter((each, index) => each !== undefined && values.indexOf(each) !== index);
  return [...twice(elements.map(({ id }) => id)), ...twice(elements.map(({ attributes }) => attributes.label))].map(
    (each) => `${each} is there twice`,
  );
};

describe('the forms for issues', () => {
  test.each(forms)('are ones that GitHub takes: %s', (name) => expect(wrongs(text(name))).toEqual([]));

  test('are the only way to open an issue', () => {
    expect(forms).toEqual(['bug.yaml', 'feature.yaml', 'probe.yaml']);
    expect(parse(text('config.yml'))).toEqual({ blank_issues_enabled: false });
  });

  test.each([
    ['two elements of one id', 'id: kubernetes', 'id: version', 'version is there twice'],
    ['two elements of one label', 'label: Redis', 'label: Log of the operator', 'Log of the operator is there twice'],
    ['an element of no kind', 'type: dropdown', 'type: select', 'value of tag "type" must be in oneOf'],
    ['an element without a label', '      label: Redis\n', '', "must have required property 'label'"],
    ['a key that is misspelt', 'placeholder: 1.36.3', 'placehodler: 1.36.3', 'must NOT have additional properties'],
    ['the option None', '- otherwise', '- None', 'must NOT be valid'],
    ['an id with a space', 'id: redis', 'id: the redis', 'must match pattern'],
  ])('would be refused with %s', (_, from, to, wrong) => {
    const bug = text('bug.yaml');
    expect(bug).toContain(from);
    expect(wrongs(bug.replaceAll(from, to)).join('\n')).toContain(wrong);
  });

  test('ask for what shows a defect, by commands that the plugin has', () => {
    const bug = parse(text('bug.yaml'));
    const ids: readonly string[] = bug.body.map(({ id }: { readonly id?: string }) => id);
    expect(ids).toEqual(expect.arrayContaining(['explain', 'journal', 'version', 'kubernetes']));
    const commands = [...text('bug.yaml').matchAll(/kubectl routedip ((?:explain|journal) [\d.]+[\w -]*)/g)].map(([, command = '']) =>
      command.trim(),
    );
    expect(commands).toEqual(['explain 203.0.113.9 -n default', 'journal 203.0.113.9 -n default -o json']);
    for (const command of commands) expect(parsePlugin(command.split(' '), '0')).toMatchObject({ asked: { address: '203.0.113.9' } });
  });
});
