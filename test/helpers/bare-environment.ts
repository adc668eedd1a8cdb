/** Environment that a child needs, and nothing else of the caller's: no DATABASE_URL, no key. */
export function bareEnvironment(): Record<string, string> {
  const names = ['PATH', 'NODE_COMPILE_CACHE']
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? '']).filter(([, value]) => value))
}
