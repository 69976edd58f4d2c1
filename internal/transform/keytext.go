package transform

import "fmt"

// keyText is a key as an error message shows it.
func keyText[K any](k *K) string {
	s := fmt.Sprintf("%#v", *k)
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}
