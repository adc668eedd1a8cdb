import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { COMMANDS } from '../src/run/command.ts'
import { CONFIGURATION, VARIABLES } from '../src/variables.ts'
import { BENCHMARKS } from './bench.ts'
import { LOWEST_NODE } from './bundle.ts'
import { DRILLS } from './drill.ts'
import { headingId } from './site/heading-id.ts'

const PAGES = [
  '*.md',
  'docs/**/*.md',
  'migrations/*.md',
  'helm/*/README.md',
  'sdk/README.md',
  'cli/README.md',
  'examples/**/*.md',
  'adapters/*.md',
  'adapters/*/README.md',
  'python/README.md',
]

type Block = { readonly language: string; readonly text: string; readonly where: string }

/**
 * Checks README and docs, and returns one line for each fault.
 *
 * - Code blocks parse.
 * - Named scripts and files exist.
 * - Links lead to a page and a heading.
 * - Variables and Node versions match the code.
 * - docs/README.md leads to each page.
 */
export function checkDocs(root: string): string[] {
  const files = globSync(PAGES, { cwd: root }).sort()
  const scripts = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts ?? {})
  const faults = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return [
      ...codeBlocks(text, file).flatMap((block) => [
        ...checkBlock(block),
        ...checkCommands(block, root, scripts),
      ]),
      // CHANGELOG.md is left out, because it also names removed scripts.
      ...(file === 'CHANGELOG.md' ? [] : checkNames(text)).map((fault) => `${file}: ${fault}`),
      ...checkLinks(text, file, root),
    ]
  })
  return [
    ...faults,
    ...checkVariables(files, root),
    ...checkNodes(files, root),
    ...checkCommandName(files, root),
    ...checkReachable(files, root),
  ]
}

function codeBlocks(text: string, file: string): Block[] {
  return [...text.matchAll(/^( *)```(\w*)[^\n]*\n([\s\S]*?)^\1```/gm)].map((match) => ({
    language: match[2]!,
    text: match[3]!,
    where: `${file}:${text.slice(0, match.index).split('\n').length + 1}`,
  }))
}

function checkBlock({ language, text, where }: Block): string[] {
  // A block with an ellipsis is incomplete on purpose.
  if (text.includes('…') || text.includes('...')) return []
  try {
    if (language === 'json') JSON.parse(text)
    if (language === 'ts' || language === 'typescript') requireTypeScript(text)
    if (language === 'sh' || language === 'bash') requireShell(text)
    return []
  } catch (error) {
    return [`${where}: the ${language} block does not parse: ${(error as Error).message.split('\n')[0]}`]
  }
}

/**
 * Parses TypeScript in a separate process, because Node's parsing function prints a warning that it is experimental.
 */
function requireTypeScript(text: string): void {
  const code = "require('node:module').stripTypeScriptTypes(require('node:fs').readFileSync(0, 'utf8'))"
  const flags = ['--disable-warning=ExperimentalWarning', '--eval', code]
  const { status, stderr } = spawnSync(process.execPath, flags, { input: text, encoding: 'utf8' })
  if (status !== 0) throw new Error(/SyntaxError[^\n]*/.exec(stderr)?.[0] ?? stderr)
}

function requireShell(text: string): void {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

const NPM_COMMANDS = new Set(['ci', 'init', 'install', 'rebuild', 'config', 'pack', 'exec', 'run'])

function checkCommands({ language, text, where }: Block, root: string, scripts: string[]): string[] {
  if (!['sh', 'bash', 'console', ''].includes(language)) return []
  const named = [...text.matchAll(/\bnpm (?:run (?:-\S+ )*)?([a-z][\w:-]*)/g)].map((match) => match[1]!)
  const paths = [...text.matchAll(/\bnode (?:tools\/run\.mjs )?([\w./-]+\.(?:ts|mjs))/g)].map(
    (match) => match[1]!,
  )
  return [
    ...named
      .filter((name) => !scripts.includes(name) && !NPM_COMMANDS.has(name))
      .map((name) => `${where}: \`npm run ${name}\` is not a script of package.json`),
    ...paths
      .filter((path) => !existsSync(join(root, path)) && !text.includes(`cat > ${path} `))
      .map((path) => `${where}: there is no ${path}`),
  ]
}

const NAMED: Readonly<Record<string, object>> = { op: COMMANDS, drill: DRILLS, bench: BENCHMARKS }

/** Returns a fault for each name that `npm run op`, `npm run drill` or `npm run bench` does not know. */
export function checkNames(text: string): string[] {
  return [...text.matchAll(/\bnpm run (?:-\S+ )*(op|drill|bench) -- ([a-z][\w-]*)/g)]
    .filter(([, script, name]) => !Object.hasOwn(NAMED[script!]!, name!))
    .map(([command]) => `\`${command}\`: this name does not exist`)
}

function checkLinks(text: string, file: string, root: string): string[] {
  const prose = withoutBlocks(text).replaceAll(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1]!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .flatMap((link) => {
      const [path, heading] = link.split('#') as [string, string?]
      const page = path === '' ? file : join(dirname(file), path)
      if (!existsSync(join(root, page))) return [`${file}: the link to ${path} is broken`]
      if (heading === undefined || !page.endsWith('.md')) return []
      const headings = headingsOf(readFileSync(join(root, page), 'utf8'))
      return headings.has(heading) ? [] : [`${file}: ${page} has no heading #${heading}`]
    })
}

/** Returns the anchors that GitHub makes of the headings, and the page's explicit anchors. */
function headingsOf(text: string): Set<string> {
  const prose = withoutBlocks(text)
  const headings = [...prose.matchAll(/^#+ +(.*)$/gm)].map(([, heading]) => headingId(heading!))
  return new Set([...headings, ...[...prose.matchAll(/<a id="([^"]+)"/g)].map(([, id]) => id!)])
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^( *)```[\s\S]*?^\1```/gm, '')
}

/**
 * Checks the Node versions that pages name. Each must be the lowest supported version, or a version that a component
 * needs.
 */
function checkNodes(files: string[], root: string): string[] {
  return files
    .filter((file) => !WITH_MEASUREMENTS.test(file))
    .flatMap((file) => {
      const named = readFileSync(join(root, file), 'utf8').matchAll(/\bNode (\d\d(?:\.\d+)*)\b/g)
      return [...named]
        .map(([, version]) => version!)
        .filter((version) => version !== LOWEST_NODE && !LATER_NODES.has(version))
        .map((version) => `${file}: Node ${version} is not the lowest version, ${LOWEST_NODE} (package.json)`)
    })
}

/** Pages on which Node versions are not checked, because these pages name the Node of a measurement or of a fault. */
const WITH_MEASUREMENTS =
  /^(CHANGELOG\.md|docs\/(BENCHMARKS|operate\/capacity|limits)\.md|docs\/(decisions|formats)\/)/
/** Node versions that components need: 22 for the AI SDK, and 22.15 for Zstandard. This repository pins 24.21. */
const LATER_NODES: ReadonlySet<string> = new Set(['22', '22.15', '24', '24.21'])

/**
 * Checks that code blocks write `npx tallystick`, because in the repository `tallystick` is not on the PATH.
 * cli/README.md is exempt, because it describes the installed package.
 */
function checkCommandName(files: string[], root: string): string[] {
  return files
    .filter((file) => file !== join('cli', 'README.md'))
    .flatMap((file) => codeBlocks(readFileSync(join(root, file), 'utf8'), file))
    .filter(({ language, text }) => /^(sh|bash)$/.test(language) && BARE_COMMAND.test(text))
    .map(({ where }) => `${where}: write npx tallystick`)
}

const BARE_COMMAND = /(^ *|[|&;] *|\$\()tallystick /m

/** Checks that links lead from docs/README.md to each page of docs/. */
function checkReachable(files: string[], root: string): string[] {
  const pages = files.filter((file) => file.startsWith(join('docs', '')))
  const start = join('docs', 'README.md')
  if (!pages.includes(start)) return [`${start} is missing`]
  const reached = new Set<string>([start])
  for (const page of reached)
    for (const [, link] of withoutBlocks(readFileSync(join(root, page), 'utf8')).matchAll(
      /\]\(([^)#\s]+)/g,
    )) {
      const target = join(dirname(page), link!)
      if (pages.includes(target)) reached.add(target)
    }
  return pages.filter((page) => !reached.has(page)).map((page) => `${page}: ${start} does not link to it`)
}

/**
 * Checks that a program reads each variable on a page, and that the reference explains each variable of the
 * configuration.
 */
function checkVariables(files: string[], root: string): string[] {
  const namesOf = (file: string) => new Set(readFileSync(join(root, file), 'utf8').match(VARIABLE))
  const unknown = files.flatMap((file) =>
    [...namesOf(file)].filter((name) => !KNOWN.has(name)).map((name) => `${file}: no code uses ${name}`),
  )
  const reference = join('docs', 'operate', 'settings.md')
  if (!files.includes(reference)) return unknown
  const documented = namesOf(reference)
  const missing = CONFIGURATION.filter((name) => !documented.has(name))
  return [...unknown, ...missing.map((name) => `${reference}: does not explain ${name}`)]
}

/** All variables of the configuration, and the variable for tests (CONTRIBUTING.md). */
const KNOWN: ReadonlySet<string> = new Set([...VARIABLES, 'TALLYSTICK_TEST_DATABASE_URL'])
const VARIABLE = /\bTALLYSTICK_[A-Z][A-Z0-9_]*[A-Z0-9]\b/g
