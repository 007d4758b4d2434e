import { type Document, parseAllDocuments } from 'yaml';

type Path = readonly (string | number)[];

/** What a line of a manifest becomes in the chart; `indent` is that of the line. */
type Rewrite = (line: string, indent: string) => string;

/** One place of a manifest that a value of the chart decides. */
export interface Setting {
  readonly path: Path;
  readonly rewrite: Rewrite;
}

const spacesOf = (indent: string, more: number): number => indent.length + more;

/** The scalar at `path` is `expression` of the template language. */
export const scalar = (path: Path, expression: string): Setting => ({
  path,
  rewrite: (line) => line.replace(/: .*$/, `: {{ ${expression.replaceAll('$', '$$$$')} }}`),
});

/** All below `path` is `expression`, which gives lines of YAML. */
export const block = (path: Path, expression: string): Setting => ({
  path,
  rewrite: (line, indent) => line.replace(/: .*$/, `:\n${indent}  {{- ${expression} | nindent ${spacesOf(indent, 2)} }}`),
});

/** The entry of the list at `path` is what `expression` gives, if that is anything: lines of YAML that begin with their dashes. */
export const entry = (path: Path, expression: string): Setting => ({
  path,
  rewrite: (_, indent) => `${indent}{{- with ${expression} | trim }}\n${indent}{{- . | nindent ${indent.length} }}\n${indent}{{- end }}`,
});

/** The line of the scalar at `path` is there only while `condition` holds. */
export const only = (path: Path, condition: string): Setting => ({
  path,
  rewrite: (line, indent) => `${indent}{{- if ${condition} }}\n${line}\n${indent}{{- end }}`,
});

/** A field that the manifest does not have: `value` while `condition` holds. */
export const added = (path: Path, value: string, condition: string): Setting => ({
  path,
  rewrite: (line, indent) => `${indent}{{- if ${condition} }}\n${line.replace(/: .*$/, '')}: ${value}\n${indent}{{- end }}`,
});

/** A field that the manifest does not have: `expression` when that is not empty. */
export const optional = (path: Path, expression: string, lines = 'toYaml . | nindent'): Setting => ({
  path,
  rewrite: (line, indent) =>
    [
      `${indent}{{- with ${expression} }}`,
      `${line.replace(/: .*$/, ':')}`,
      `${indent}  {{- ${lines} ${spacesOf(indent, 2)} }}`,
      `${indent}{{- end }}`,
    ].join('\n'),
});

const MARK = 'chart-value-';

/** `document` with a mark at each place, and what stood there when that is one word. */
const marked = (document: Document, settings: readonly Setting[]): readonly string[] =>
  settings.map(({ path }, index) => {
    const before: unknown = document.getIn(path);
    document.setIn(path, `${MARK}${index}.`);
    return typeof before === 'object' || before === undefined ? '' : String(before);
  });

/** The lines of `document` with the settings worked in. @throws Error when a place was not found on a line of its own */
const rewritten = (document: Document, settings: readonly Setting[]): string => {
  const before = marked(document, settings);
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: false, directives: false });
  return settings.reduce((lines, { path, rewrite }, index) => {
    const mark = `${MARK}${index}.`;
    const found = lines.split('\n').filter((line) => line.includes(mark));
    const [line] = found;
    if (line === undefined || found.length > 1) throw new Error(`no line of its own for ${path.join('.')}`);
    const indent = /^ */.exec(line)?.[0] ?? '';
    return lines.replace(line, () =>
      rewrite(
        line.replace(mark, () => before[index] ?? ''),
        indent,
      ),
    );
  }, text);
};

/** The namespace is that of the release, also where a user name has it. */
const released = (text: string): string =>
  text
    .replaceAll('namespace: routedip-operator\n', 'namespace: {{ .Release.Namespace }}\n')
    .replaceAll('system:serviceaccount:routedip-operator:', 'system:serviceaccount:{{ .Release.Namespace }}:');

/** How one object of a manifest is to be in the chart. */
export interface Templated {
  readonly settings?: readonly Setting[];
  /** The object is left out while this does not hold. */
  readonly when?: string | undefined;
}

/** A manifest as a template of the chart; `of` is asked about each object by kind and name. Comments stay. */
export const templateOf = (text: string, of: (kind: string, name: string) => Templated): string =>
  parseAllDocuments(text)
    .map((document) => {
      const { settings = [], when } = of(String(document.getIn(['kind'])), String(document.getIn(['metadata', 'name'])));
      const body = released(
        rewritten(document, settings)
          .replace(/^---\n/, '')
          .trimEnd()
          .concat('\n'),
      );
      return when === undefined ? `---\n${body}` : `{{- if ${when} }}\n---\n${body}{{- end }}\n`;
    })
    .join('');
