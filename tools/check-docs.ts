import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

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
 * Checks claims of README and docs that a machine can see: code blocks parse, scripts and files that commands name exist, links
 * lead to a page and a heading of it, variables are those of the configuration. One line per fault.
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
      ...checkLinks(text, file, root),
    ]
  })
  return [...faults, ...checkVariables(files, root)]
}

function codeBlocks(text: string, file: string): Block[] {
  return [...text.matchAll(/^( *)```(\w*)[^\n]*\n([\s\S]*?)^\1```/gm)].map((match) => ({
    language: match[2]!,
    text: match[3]!,
    where: `${file}:${text.slice(0, match.index).split('\n').length + 1}`,
  }))
}

function checkBlock({ language, text, where }: Block): string[] {
  // An ellipsis stands for what is left out: such a block is for reading.
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

/** In a process of its own, because the function warns of being experimental. */
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
  const named = [...text.matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].map((match) => match[1]!)
  const paths = [...text.matchAll(/\bnode (?:tools\/run\.mjs )?([\w./-]+\.(?:ts|mjs))/g)].map(
    (match) => match[1]!,
  )
  return [
    ...named
      .filter((name) => !scripts.includes(name) && !NPM_COMMANDS.has(name))
      .map((name) => `${where}: \`npm run ${name}\` is no script of package.json`),
    ...paths
      .filter((path) => !existsSync(join(root, path)) && !text.includes(`cat > ${path} `))
      .map((path) => `${where}: there is no ${path}`),
  ]
}

function checkLinks(text: string, file: string, root: string): string[] {
  const prose = withoutBlocks(text).replaceAll(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1]!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .flatMap((link) => {
      const [path, heading] = link.split('#') as [string, string?]
      const page = path === '' ? file : join(dirname(file), path)
      if (!existsSync(join(root, page))) return [`${file}: the link to ${path} leads nowhere`]
      if (heading === undefined || !page.endsWith('.md')) return []
      const headings = headingsOf(readFileSync(join(root, page), 'utf8'))
      return headings.has(heading) ? [] : [`${file}: no heading is #${heading} in ${page}`]
    })
}

/** As GitHub names them, and anchors that a page makes itself. */
function headingsOf(text: string): Set<string> {
  const prose = withoutBlocks(text)
  const headings = [...prose.matchAll(/^#+ +(.*)$/gm)].map(([, heading]) =>
    heading!
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set([...headings, ...[...prose.matchAll(/<a id="([^"]+)"/g)].map(([, id]) => id!)])
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^( *)```[\s\S]*?^\1```/gm, '')
}

/** Both ways: no variable that no code knows, and none of the configuration without its word in the reference. */
function checkVariables(files: string[], root: string): string[] {
  const variablesOf = (file: string) => new Set(readFileSync(join(root, file), 'utf8').match(VARIABLE))
  const configured = globSync(CONFIGURATION, { cwd: root }).flatMap((file) => [...variablesOf(file)])
  const code = globSync(CODE, { cwd: root })
  const known = new Set([...code.flatMap((file) => [...variablesOf(file)])])
  const unknown = files.flatMap((file) =>
    [...variablesOf(file)].filter((name) => !known.has(name)).map((name) => `${file}: no code knows ${name}`),
  )
  const reference = join('docs', 'configuration.md')
  const documented = files.includes(reference) ? variablesOf(reference) : new Set<string>()
  const missing = configured.filter((name) => !documented.has(name))
  return [...unknown, ...missing.map((name) => `${reference}: does not say what ${name} is`)]
}

const CONFIGURATION = ['src/run/config.ts', 'src/db/connect/options.ts']
const CODE = ['src/**/*.ts', 'sdk/*.ts', 'cli/**/*.ts', 'bench/**/*.ts', 'examples/*.ts', 'test/helpers/*.ts']
const VARIABLE = /\bTALLYSTICK_[A-Z][A-Z_]*[A-Z]\b/g
