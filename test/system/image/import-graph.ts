import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/**
 * Everything that a file loads, at its start or later: imports, dynamic imports, worker threads, and files beside it.
 */
export type ImportGraph = {
  /** Files of the project, as relative paths. Folders that are read end with a slash. */
  readonly files: ReadonlySet<string>
  readonly packages: ReadonlySet<string>
}

export function importGraph(project: string, entry: string, { onlyAtOnce = false } = {}): ImportGraph {
  const files = new Set<string>()
  const packages = new Set<string>()
  const waiting = [entry]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue
    files.add(file)
    if (!file.endsWith('.ts')) continue
    const text = readFileSync(join(project, file), 'utf8')
    for (const specifier of onlyAtOnce ? importsOf(text) : [...importsOf(text), ...laterOf(text)]) {
      if (!specifier.startsWith('.')) {
        if (!specifier.startsWith('node:')) packages.add(packageOf(specifier))
        continue
      }
      const path = join(project, dirname(file), specifier)
      if (!existsSync(path)) throw new Error(`${file} names ${specifier}, which is not there`)
      waiting.push(relative(project, path) + (statSync(path).isDirectory() ? '/' : ''))
    }
  }
  return { files, packages }
}

function importsOf(text: string): string[] {
  const found = text.matchAll(
    /^(?:import|export) (?!type\b)(?:[\w$]+,? )?(?:\* (?:as \w+ )?)?(?:\{[^}]*\} )?from '([^']+)'|^import '([^']+)'/gm,
  )
  return [...found].map((match) => (match[1] ?? match[2])!)
}

function laterOf(text: string): string[] {
  const found = text.matchAll(/\bimport\('([^']+)'\)|new URL\('([^']+)', import\.meta\.url\)/g)
  return [...found].map((match) => (match[1] ?? match[2])!)
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
