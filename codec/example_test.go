package codec_test

import (
	"fmt"
	"math/big"

	"github.com/cutwater-io/cutwater/codec"
)

// A type of somebody else that has no MarshalBinary gets a codec with Custom,
// and Use brings it to wherever the type occurs.
func ExampleCustom() {
	amounts := codec.Custom("big.Int/1",
		func(dst []byte, v *big.Int) []byte {
			return v.Append(dst, 16)
		},
		func(src []byte, v *big.Int) ([]byte, error) {
			if _, ok := v.SetString(string(src), 16); !ok {
				return src, fmt.Errorf("%w: %q is not a number", codec.ErrDamaged, src)
			}
			return nil, nil // inside another type src is exactly this value
		})

	type order struct {
		Shop  string `cutwater:"shop"`
		Total big.Int
	}
	c, err := codec.For[order](codec.Use(amounts))
	if err != nil {
		fmt.Println(err)
		return
	}
	var back order
	_, err = c.Decode(c.Append(nil, &order{"corner", *big.NewInt(-255)}), &back)
	fmt.Println(c.Schema)
	fmt.Println(back.Shop, &back.Total, err)
	// Output:
	// struct{shop:string,Total:big.Int/1}
	// corner -255 <nil>
}

func ExampleFor() {
	type click struct {
		User int32  `cutwater:"user"`
		Page string `cutwater:"page"`
		Done chan bool
	}
	_, err := codec.For[click]()
	fmt.Println(err)
	// Output:
	// codec: codec_test.click.Done of type chan bool cannot be encoded: a channel carries no data of its own; use a concrete type, leave the field out with the tag `cutwater:"-"`, or bring a codec with codec.Use
}
