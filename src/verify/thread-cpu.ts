/**
 * Returns this thread's CPU time so far in ms. Returns 0 if Node does not report it, for example Node 20, which the
 * command line supports.
 */
export function threadCpuMs(): number {
  const { threadCpuUsage } = process as { threadCpuUsage?: () => { user: number; system: number } }
  if (!threadCpuUsage) return 0
  const { user, system } = threadCpuUsage.call(process)
  return (user + system) / 1_000
}
