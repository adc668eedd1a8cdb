import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

export const START = join('docs', 'README.md')

export type Page = {
  /** Path in the repository. */
  readonly source: string
  /**
   * Path in the site. The folder docs/ is the root, README.md becomes index.md, and the rest of the repository is below
   * repository/.
   */
  readonly path: string
  readonly title: string
  /** First sentence below the title. */
  readonly summary: string
  /** The page's Markdown, with links that lead to paths of the site. */
  readonly text: string
}
export type Site = {
  /** Pages, in the order in which links from docs/README.md lead to them. */
  readonly pages: readonly Page[]
  /** Linked files that are not pages, by their path in the site. */
  readonly files: ReadonlyMap<string, string>
}
export type Group = { readonly title: string; readonly pages: readonly Page[] }

/** Titles of folders, in the order of the menu. */
const GROUPS: Readonly<Record<string, string>> = {
  '': 'Documentation',
  start: 'Start',
  guides: 'Guides',
  integrations: 'Integrations',
  operate: 'Operate',
  reference: 'Reference',
  runbooks: 'Runbooks',
  formats: 'Formats',
  decisions: 'Decisions',
  repository: 'Repository',
}

/**
 * Reads docs/README.md, and each page of the repository to which links lead. Collects their images and linked files.
 * Throws if a link leads nowhere, or if a page has no title.
 */
export function readSite(root: string): Site {
  const files = new Map<string, string>()
  const sources = new Set([START])
  const pages: Page[] = []
  for (const source of sources) {
    const text = replaceLinks(readFileSync(join(root, source), 'utf8'), (target) => {
      const [path, heading] = target.split('#') as [string, string?]
      const file = path === '' ? source : fileOf(root, join(dirname(source), path), source)
      if (file === null) return null
      if (file.endsWith('.md')) sources.add(file)
      else files.set(pathOf(file), file)
      const link = relative(dirname(pathOf(source)), pathOf(file))
      return heading === undefined ? link : `${path === '' ? '' : link}#${heading}`
    })
    pages.push({ source, path: pathOf(source), text, ...headOf(text, source) })
  }
  return { pages, files }
}

/** Groups pages by the first folder of their path. */
export function groupsOf(pages: readonly Page[]): Group[] {
  const folders = Map.groupBy(pages, ({ path }) => (path.includes('/') ? path.split('/')[0]! : ''))
  const rank = (folder: string) => (Object.hasOwn(GROUPS, folder) ? Object.keys(GROUPS).indexOf(folder) : 99)
  return [...folders]
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([folder, pages]) => ({ title: GROUPS[folder] ?? folder, pages }))
}

/**
 * Returns the index for language models (llmstxt.org). It has a line for each page, with the address of the page's
 * Markdown.
 */
export function llmsText(pages: readonly Page[]): string {
  const groups = groupsOf(pages).map(({ title, pages }) => {
    const lines = pages.map(({ title, path, summary }) => `- [${title}](${path})${summary && `: ${summary}`}`)
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  const about = 'A self-hosted accountability ledger for AI-agent fleets. Each page below is Markdown.'
  return `# Tallystick\n\n> ${about}\n\n${groups.join('\n')}`
}

/** Returns the path in the site for a file of the repository. */
function pathOf(file: string): string {
  const path = file.startsWith('docs/') ? file.slice('docs/'.length) : `repository/${file}`
  // Adds `.txt` to a file without an ending. Otherwise VitePress would take a link to the file for a link to a page.
  return path.replace(/(^|\/)README\.md$/, '$1index.md').replace(/(^|\/)([^./]+)$/, '$1$2.txt')
}

/**
 * Returns the file that a link means. A link to a folder means the folder's README.md. Returns null if the folder has
 * none.
 */
function fileOf(root: string, target: string, source: string): string | null {
  const file = target.replace(/\/$/, '')
  if (!existsSync(join(root, file))) throw new Error(`${source}: the link to ${target} is broken`)
  if (!statSync(join(root, file)).isDirectory()) return file
  const readme = join(file, 'README.md')
  return existsSync(join(root, readme)) ? readme : null
}

/** Matches links and images. It also matches code, so that text in code is not taken for a link. */
const LINK = /(!?\[(?:`[^`\n]*`|[^\]`])*\])\(([^)\s]+)\)|`[^`\n]*`/g

/** Replaces the targets of relative links outside of code. `replace` returns null to leave only the text of a link. */
function replaceLinks(text: string, replace: (target: string) => string | null): string {
  return text
    .split(/(^ *```[\s\S]*?^ *```)/m)
    .map((part, i) =>
      i % 2 === 1
        ? part
        : part.replaceAll(LINK, (whole, label?: string, target?: string) => {
            if (label === undefined || /^[a-z]+:/.test(target!)) return whole
            const link = replace(target!)
            return link === null ? label.slice(1, -1) : `${label}(${link})`
          }),
    )
    .join('')
}

function headOf(text: string, source: string): { title: string; summary: string } {
  const [, title, body] = /^# (.+)\n([\s\S]*)/.exec(text) ?? []
  if (title === undefined) throw new Error(`${source}: has no title`)
  const prose = body!
    .split(/\n\n+/)
    .map((part) => part.trim())
    .find((part) => /^(\p{L}|\*\*|\[)/u.test(part))
  return { title: plain(title), summary: plain(/^[\s\S]*?[.:](?=\s|$)/.exec(prose ?? '')?.[0] ?? '') }
}

function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
