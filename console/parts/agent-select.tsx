import type { Session } from '../session.ts'

export function AgentSelect({
  label,
  session,
  value,
  set,
}: {
  label: string
  session: Session
  value: string
  set: (agent: string) => void
}) {
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
        <option value="">any</option>
        {[...session.names].map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
