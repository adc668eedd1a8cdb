import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Checks that each link and image of a built site leads to a file, and each anchor to an element with that id. `base`
 * is the path under which the site is served. Returns one line for each fault.
 */
export function checkBuiltLinks(folder: string, base: string): string[] {
  const files = new Set(globSync('**/*', { cwd: folder }))
  const pages = new Map(
    [...files].filter((file) => file.endsWith('.html')).map((file) => [file, readPage(join(folder, file))]),
  )
  return [...pages].flatMap(([page, { links }]) =>
    links.flatMap((link) => {
      const [path, id] = decodeURI(link).split('#') as [string, string?]
      const found = path === '' ? page : pathIn(path, page, base)
      const file = files.has(join(found, 'index.html')) ? join(found, 'index.html') : found
      if (!files.has(file)) return [`${page}: the link to ${link} is broken`]
      const target = pages.get(file)
      if (!id || target === undefined || target.ids.has(id)) return []
      return [`${page}: nothing has the id ${id} in ${file}`]
    }),
  )
}

function pathIn(path: string, page: string, base: string): string {
  const found = path.startsWith('/') ? join('.', path.slice(base.length)) : join(dirname(page), path)
  return found.replace(/^\.?\//, '').replace(/\/$/, '')
}

function readPage(file: string): { links: string[]; ids: Set<string> } {
  const html = readFileSync(file, 'utf8').replaceAll(/<script[\s\S]*?<\/script>/g, '')
  const valuesOf = (attributes: RegExp) => [...html.matchAll(attributes)].map(([, value]) => value!)
  const links = valuesOf(/\s(?:href|src)="([^"]+)"/g).map((link) => link.replaceAll('&amp;', '&'))
  return {
    links: links.filter((link) => !/^([a-z]+:|\/\/)/.test(link)),
    ids: new Set(valuesOf(/\sid="([^"]+)"/g)),
  }
}
