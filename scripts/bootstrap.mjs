import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { progress, projectFolder, run } from './run.mjs';

const oldestNode = [20, 19];
const inProject = (...path) => join(projectFolder, ...path);

/** Makes a fresh clone runnable: installs the dependencies and builds, each only when needed. */
export async function bootstrap() {
  await installDependencies();
  await build();
}

/** Before anything else: the other functions use what older versions do not have. */
export function checkNode() {
  const version = process.versions.node;
  const [major, minor] = version.split('.').map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  const error = new Error(
    `Node ${oldestNode.join('.')} or newer is needed, this is ${version}; see https://nodejs.org`,
  );
  throw Object.assign(error, { exitCode: 78 });
}

async function installDependencies() {
  if (dependenciesMatch()) return;
  if (isLink(inProject('node_modules'))) {
    // npm ci would empty the folder that it leads to, which is someone else's.
    throw new Error(
      'node_modules is a link, and what it leads to does not match package-lock.json: ' +
        'install the dependencies there, or remove the link',
    );
  }
  progress('installing the dependencies (npm ci)');
  // Also where NODE_ENV=production would leave out what the build needs.
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  if ((await run(npm, ['ci', '--include=dev'])) !== 0)
    throw new Error('npm ci failed; its messages are above');
}

const isLink = (path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** Compares contents, not times: a checkout touches package-lock.json without changing it. */
function dependenciesMatch() {
  const installedList = inProject('node_modules', '.package-lock.json');
  if (!existsSync(installedList)) return false;
  const packages = (path) => JSON.parse(readFileSync(path, 'utf8')).packages;
  const installed = packages(installedList);
  return Object.entries(packages(inProject('package-lock.json'))).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
}

async function build() {
  if (isBuilt()) return;
  progress('building');
  // An incremental build knows what it wrote, but not what was deleted since.
  if (
    !sourceFiles()
      .map(outputOf)
      .every((path) => existsSync(path))
  )
    rmSync(buildRecord, { force: true });
  const compiler = inProject('node_modules', 'typescript', 'bin', 'tsc');
  // No output from sources with errors: what is older than its source is built again, and fails again.
  const args = [compiler, '-p', 'tsconfig.json', '--noEmitOnError'];
  if ((await run(process.execPath, args)) !== 0) throw new Error('the build failed; its messages are above');
}

const buildRecord = inProject('dist', 'tsconfig.tsbuildinfo');

function isBuilt() {
  const isForOtherOptions =
    existsSync(buildRecord) && changedAtMs(buildRecord) < changedAtMs(inProject('tsconfig.json'));
  if (isForOtherOptions) return false;
  return sourceFiles().every((source) => {
    const output = outputOf(source);
    return existsSync(output) && changedAtMs(source) <= changedAtMs(output);
  });
}

function sourceFiles() {
  return ['src', 'test', 'bench'].flatMap(filesBelow).filter((path) => path.endsWith('.ts'));
}

/** The JavaScript file that the compiler makes of a TypeScript file; both paths are absolute. */
export function outputOf(source) {
  return inProject('dist', source.slice(projectFolder.length)).replace(/\.ts$/, '.js');
}

/** All files below a folder of the project, as absolute paths. */
export function filesBelow(folder) {
  if (!existsSync(inProject(folder))) return [];
  return readdirSync(inProject(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

const changedAtMs = (path) => statSync(path).mtimeMs;
