package blob

import (
	"fmt"
	"strings"
)

// CheckName tells whether name may be the name of an object: slash-separated
// elements, none of them empty or beginning with a dot (so neither "." nor ".."
// nor a store's own hidden files), no backslash and no NUL.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("object name is empty")
	}
	if strings.ContainsAny(name, "\\\x00") {
		return fmt.Errorf("object name %q contains a backslash or NUL", name)
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == "" || element[0] == '.' {
			return fmt.Errorf("object name %q has an element that is empty or begins with a dot", name)
		}
	}
	return nil
}
