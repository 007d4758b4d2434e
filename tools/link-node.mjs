// Both Node packages want the name `node` in node_modules/.bin. npm 10 links the one for this platform and then removes the link together
// with the package for the other platform, so the link is made here. Run by npm as `prepare` (after npm ci and npm install) and by setup.mjs.
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from './root.mjs';

/**
 * Makes `node` in npm scripts the project's own Node. Does nothing when it is so already, or when the project brings none for this platform.
 * @param {string} root The folder of the project.
 */
export const linkNode = (root) => {
  const link = join(root, 'node_modules/.bin/node');
  const target = `../node-${process.platform}-${process.arch}/bin/node`;
  if (existsSync(link) || !existsSync(join(root, 'node_modules/.bin', target))) return;
  rmSync(link, { force: true });
  symlinkSync(target, link);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) linkNode(ROOT);
