/**
 * Returns this thread's CPU time so far in ms; 0 if Node does not report it. The command line also runs on Node 20,
 * which does not.
 */
export function threadCpuMs(): number {
  const { threadCpuUsage } = process as { threadCpuUsage?: () => { user: number; system: number } }
  if (!threadCpuUsage) return 0
  const { user, system } = threadCpuUsage.call(process)
  return (user + system) / 1_000
}
