/**
 * Returns a function that takes a file's relative path, and returns whether a builder gets the file. The last line
 * that matches the file, or a folder above it, decides.
 */
export function makeContextFilter(dockerignore: string): (path: string) => boolean {
  const rules = dockerignore
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => ({ taken: line.startsWith('!'), matches: compile(line.replace(/^!/, '')) }))
  return (path) => {
    const parts = path.split('/')
    const prefixes = parts.map((_, i) => parts.slice(0, i + 1).join('/'))
    return rules.findLast(({ matches }) => prefixes.some(matches))?.taken ?? true
  }
}

/** `**` matches any number of folders, including none. `*` matches any characters within a name. */
function compile(pattern: string): (path: string) => boolean {
  const source = pattern
    .split('**/')
    .map((part) => part.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*'))
    .join('(?:.*/)?')
  const regexp = new RegExp(`^${source}$`)
  return (path) => regexp.test(path)
}
