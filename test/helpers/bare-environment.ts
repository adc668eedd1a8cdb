/** What a child needs of the caller's environment, and nothing else of it: no DATABASE_URL, no key. */
export function bareEnvironment(): Record<string, string> {
  const names = ['PATH', 'NODE_COMPILE_CACHE']
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? '']).filter(([, value]) => value))
}
