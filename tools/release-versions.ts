import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { sectionOf } from './release-notes.ts';

/** A version, and where it is said. */
export interface SaidVersion {
  readonly where: string;
  readonly version: string;
}

/** The operator's own images in manifests, compose files and lists of images. */
const IMAGE = /(?:^|image: *"?)(?:[\w.:-]+\/)*routedip-operator(?:-demo)?:([^\s"@]+)/gm;
const MANIFESTS = ['deploy/**/*.{yaml,txt}', 'docker-compose*.yml'];
/** The image and the package in commands and prose. */
const TOLD = /routedip-operator[:-](\d+\.\d+\.\d+[\w.-]*?)(?=\.tgz|[^\w.-]|$)/gm;
/** docs/releasing.md speaks of a version that there is not. */
const PAGES = ['README.md', 'docs/!(releasing).md'];

/** Every place of the project below `root` that says its version: packages, chart, manifests and pages. */
export const saidVersions = (root: string): readonly SaidVersion[] => {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const lock = JSON.parse(read('package-lock.json'));
  const chart = parse(read('deploy/chart/Chart.yaml'));
  const found = (files: readonly string[], pattern: RegExp): readonly SaidVersion[] =>
    globSync(files, { cwd: root })
      .sort()
      .flatMap((path) => [...read(path).matchAll(pattern)].map(([, version = '']) => ({ where: path, version })));
  return [
    { where: 'package.json', version: JSON.parse(read('package.json')).version },
    { where: 'package-lock.json', version: lock.version },
    { where: 'the first package in package-lock.json', version: lock.packages[''].version },
    { where: 'version in deploy/chart/Chart.yaml', version: chart.version },
    { where: 'appVersion in deploy/chart/Chart.yaml', version: chart.appVersion },
    ...found(MANIFESTS, IMAGE),
    ...found(PAGES, TOLD),
  ];
};

/** What does not agree with `version`, as sentences. */
export const disagreements = (said: readonly SaidVersion[], version: string): readonly string[] =>
  said.flatMap((each) => (each.version === version ? [] : [`${each.where} is ${each.version}, not ${version}`]));

/** Why the project below `root` cannot be released under `tag`, as sentences. */
export const releaseProblems = (root: string, tag: string): readonly string[] => {
  const version = tag.replace(/^v/, '');
  if (!/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(tag)) return [`${tag} is not a version such as v1.2.3 or v1.2.3-rc.1`];
  const section = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  const undated =
    section === null ? `CHANGELOG.md has no section [${version}]` : `CHANGELOG.md gives [${version}] no date: ${section.date}`;
  const isDated = /^\d{4}-\d\d-\d\d$/.test(section?.date ?? '');
  return [...disagreements(saidVersions(root), version), ...(isDated ? [] : [undated])];
};
