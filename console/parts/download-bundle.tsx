import { useEffect, useState } from 'preact/hooks'

export function DownloadBundle({ name, lines }: { name: string; lines: string | Blob }) {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([lines], { type: 'application/x-ndjson' }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [lines])
  if (url === null) return null
  return (
    <a class="button" href={url} download={name}>
      Download the bundle
    </a>
  )
}
