/**
 * Returns a minimal environment for a child process. No other variable of the caller is passed, for example
 * DATABASE_URL or a key.
 */
export function bareEnvironment(): Record<string, string> {
  const names = ['PATH', 'NODE_COMPILE_CACHE']
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? '']).filter(([, value]) => value))
}
